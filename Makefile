# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make               build/pantrace (static, stripped copy in build/pantrace.stripped on install)
#   make run           trace this machine for a few seconds; ARGS='opensnoop -d 5' runs any command
#   make check         all tests: unit, cli (this kernel), lib (libpantrace), vm (Debian kernels under QEMU)
#   make check-all     before a release: both kernels in full, the sanitizers, ten minutes of each fuzz target
#   make bench         benchmarks against the peers, in one run
#   make dist          the one file of a release: build/pantrace-VERSION-MACHINE
#   make install PREFIX=/usr/local DESTDIR=   (make man: only the manual pages, into build/man)
#
# BUILD=release|asan|tsan|fuzz|cov   NO_DEPS=1 installs nothing   V=1 shows commands

BUILD  ?= release
O      ?= build
PREFIX ?= /usr/local
OBJ    := $(O)/obj/$(BUILD)
GEN    := $(O)/gen

ifeq ($(BUILD),release)
BIN := $(O)/pantrace
else
BIN := $(O)/pantrace-$(BUILD)
endif

CC	 ?= gcc
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wno-unused-parameter -Wno-missing-field-initializers -Werror
CPPFLAGS := -D_GNU_SOURCE -I. -Isrc -Iinclude -I$(GEN) -DPANTRACE_VERSION='"$(shell cat VERSION)"'
CFLAGS_release := -O2 -g
CFLAGS_asan    := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_tsan    := -O1 -g -fsanitize=thread
CFLAGS_fuzz    := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
CFLAGS_cov     := -O0 -g --coverage -Wno-maybe-uninitialized
LDFLAGS_release := -static
LDFLAGS_asan    := -fsanitize=address,undefined
LDFLAGS_tsan    := -fsanitize=thread
LDFLAGS_fuzz    := -fsanitize=address,undefined
LDFLAGS_cov     := --coverage
ifeq ($(BUILD),fuzz)
CC := clang
endif
CFLAGS	:= -std=gnu17 $(CFLAGS_$(BUILD)) $(WARNINGS) -ffile-prefix-map=$(CURDIR)/= -ffunction-sections -fdata-sections -fno-strict-aliasing
LDFLAGS := $(LDFLAGS_$(BUILD)) -Wl,--gc-sections
LIBS	:= -ldw -lelf -lbpf -lelf -lz -llzma -lbz2 -lzstd -llzo2 -liberty -lpthread -lm -ldl

SRC	  := $(sort $(shell find src -name '*.c'))
OBJS	  := $(SRC:%.c=$(OBJ)/%.o) $(OBJ)/gen/tools.o $(OBJ)/gen/pages.o \
	     $(OBJ)/lib/reader.o $(OBJ)/lib/metadata.o $(OBJ)/lib/field_size.o $(OBJ)/lib/clock.o $(OBJ)/lib/ctf.o $(OBJ)/lib/ctf_packet.o $(OBJ)/lib/vm.o $(OBJ)/lib/vm_check.o $(OBJ)/lib/vm_simplify.o $(OBJ)/lib/aggregate.o $(OBJ)/lib/event.o $(OBJ)/lib/refusal.o # the library's readers are the tool's too
CORE	  := $(OBJ)/libcore.a
UNIT	  := $(sort $(wildcard tests/unit/*.c))
UNIT_BINS := $(UNIT:tests/unit/%.c=$(OBJ)/unit/%)
FUZZ_BINS := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(wildcard tests/fuzz/*.c))
TOOLS	  := $(sort $(wildcard tools/*.bt))

Q := $(if $(V),,@)
# The commands that set everything up themselves use all CPUs, unless make was told how many.
JOBS := $(if $(findstring j,$(filter-out --%,$(MAKEFLAGS))),,-j$(shell nproc))

.PHONY: all dist run check check-all bench doc man install clean deps unit fuzz format tools-check
all: $(BIN)

deps:
	$(Q)[ -n "$(NO_DEPS)" ] || scripts/deps.sh $(DEPS)

$(BIN): $(OBJ)/src/main.o $(CORE)
	@echo "  LINK $@"
	$(Q)$(CC) $(LDFLAGS) -o $@ $(OBJ)/src/main.o -Wl,--start-group $(CORE) $(LIBS) -Wl,--end-group

$(CORE): $(filter-out $(OBJ)/src/main.o,$(OBJS))
	@echo "  AR   $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(OBJ)/gen/%.o: $(GEN)/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(GEN)/pages.c: scripts/embed-pages.sh $(wildcard src/view/page/*.js src/view/page/*.css)
	@mkdir -p $(@D)
	$(Q)scripts/embed-pages.sh src/view/page > $@.tmp && mv $@.tmp $@

$(GEN)/tools.c: scripts/embed-tools.sh $(TOOLS)
	@mkdir -p $(@D)
	$(Q)scripts/embed-tools.sh $(TOOLS) > $@.tmp && mv $@.tmp $@

$(GEN)/system_constants.h: scripts/constants.sh src/lang/syntax/constant_headers.h
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' $^ > $@.tmp && mv $@.tmp $@
$(OBJ)/src/lang/syntax/constants.o: $(GEN)/system_constants.h

$(GEN)/machine_macros.h: scripts/predefined.sh
	@mkdir -p $(@D)
	$(Q)CC='$(CC)' $< > $@.tmp && mv $@.tmp $@
$(OBJ)/src/lang/syntax/predefined.o: $(GEN)/machine_macros.h

unit: $(UNIT_BINS)
$(OBJ)/unit/%: tests/unit/%.c $(CORE)
	@mkdir -p $(@D)
	@echo "  TEST $@"
	$(Q)$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) -MMD -MP $(LDFLAGS) -o $@ $< -Wl,--start-group $(CORE) $(LIBS) -Wl,--end-group

fuzz: $(FUZZ_BINS)
$(O)/fuzz/%: tests/fuzz/%.c $(CORE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< -Wl,--start-group $(CORE) $(LIBS) -Wl,--end-group

# The other side: the library in programs.
$(O)/fuzz/control: tests/fuzz/control.c tests/lib/fuzz_control.c $(wildcard lib/*.c)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer,address,undefined -o $@ $(filter-out tests/lib/%,$^) -lpthread

run: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)scripts/run.sh $(BIN) $(ARGS)

check: DEPS = test
check: deps
	$(Q)scripts/format.sh --check
	$(Q)$(MAKE) --no-print-directory $(JOBS) all unit $(if $(TESTS),$(if $(findstring lib,$(TESTS)),lib-tests),lib-tests)
	$(Q)scripts/check.sh $(BIN) $(OBJ)/unit $(TESTS)

# FUZZ_SECONDS: of each target
FUZZ_SECONDS ?= 600
check-all:
	$(Q)VM_ALL=1 PROBE_ALL=1 $(MAKE) --no-print-directory check
	$(Q)$(MAKE) --no-print-directory BUILD=asan check TESTS='unit cli'
	$(Q)$(MAKE) --no-print-directory $(JOBS) BUILD=fuzz fuzz
	$(Q)O=$(O) tests/fuzz/run.sh all $$(($(FUZZ_SECONDS) * $(words $(FUZZ_BINS))))

bench: DEPS = test bench
bench: deps
	$(Q)$(MAKE) --no-print-directory $(JOBS) all
	$(Q)bench/run.sh $(BIN)

doc: all
	$(Q)scripts/doc.sh $(BIN)

man: all
	$(Q)scripts/man.sh $(BIN) $(O)/man

install: man
	$(Q)scripts/install.sh $(BIN) $(O)/man "$(DESTDIR)" "$(PREFIX)"

# What a release consists of: one file, and its sum.
DIST := pantrace-$(shell cat VERSION)-$(shell uname -m)
dist: $(BIN)
	$(Q)strip -o $(O)/$(DIST) $(BIN)
	$(Q)cd $(O) && sha256sum $(DIST) >$(DIST).sha256 && cat $(DIST).sha256

format:
	$(Q)scripts/format.sh

clean:
	rm -rf $(O)

include lib/lib.mk
-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
