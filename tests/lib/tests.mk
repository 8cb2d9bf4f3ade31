# SPDX-License-Identifier: MIT
# The programs of tests/lib/*.t, with the library's own sources, in each build that only some compiler or sanitizer tells from the
# others: $(O)/lib-tests/BUILD/NAME. A new build is a row of its compiler, and its programs.

LIB_TESTS    := $(O)/lib-tests
sanitized    := -fsanitize=address,undefined -fno-sanitize-recover=undefined
CC_plain     := gcc -O2
CC_cet       := gcc -O0 -fcf-protection
CC_lto       := gcc -O2 -flto=auto
CC_static    := gcc -O2
LINK_static  := -static
CC_asan      := gcc -O1 $(sanitized)
CC_tsan      := gcc -O1 -fsanitize=thread
CC_clang     := clang -O3
CC_clang-asan := clang -O1 $(sanitized)
CC_clang-tsan := clang -O1 -fsanitize=thread
PROGRAMS_plain	:= aggregate conserve contexts control forked inmalloc several swapped unharmed
PROGRAMS_cet	:= conserve contexts several
PROGRAMS_lto	:= conserve contexts several
PROGRAMS_static := conserve control several
PROGRAMS_asan	:= aggregate conserve contexts control damage fuzz_control several unharmed vm
PROGRAMS_tsan	:= aggregate conserve contexts control several
PROGRAMS_clang	:= aggregate conserve contexts several
PROGRAMS_clang-asan := aggregate vm
PROGRAMS_clang-tsan := aggregate
LIB_TEST_BUILDS := plain cet lto static asan tsan $(if $(shell command -v clang),clang clang-asan clang-tsan)
LIB_TEST_FLAGS	:= -std=gnu17 -D_GNU_SOURCE -g -Iinclude -MMD -MP

# those that are tests of a part of the library have only that
OF_aggregate := lib/aggregate.c
OF_vm	     := lib/aggregate.c lib/clock.c $(wildcard lib/vm*.c)
$(LIB_TESTS)/%/fuzz_control.o: LIB_TEST_FLAGS += -DALONE
$(LIB_TESTS)/%/inmalloc.o: LIB_TEST_FLAGS += -fno-builtin

# of a build, and a program in it
define lib_test_build
$(LIB_TESTS)/$1/lib/%.o: lib/%.c
	@mkdir -p $$(@D)
	$$(Q)$(CC_$1) $$(LIB_TEST_FLAGS) -c -o $$@ $$<
$(LIB_TESTS)/$1/%.o: tests/lib/%.c
	@mkdir -p $$(@D)
	$$(Q)$(CC_$1) $$(LIB_TEST_FLAGS) -c -o $$@ $$<
$(foreach program,$(PROGRAMS_$1),$(call lib_test_program,$1,$(program)))
endef
define lib_test_program
$(LIB_TESTS)/$1/$2: $(LIB_TESTS)/$1/$2.o $(patsubst %.c,$(LIB_TESTS)/$(if $(filter static,$1),plain,$1)/%.o,$(or $(OF_$2),$(LIB_SRC)))
	@echo "  TEST $$@"
	$$(Q)$(CC_$1) $(LINK_$1) -o $$@ $$^ -lpthread
lib-tests: $(LIB_TESTS)/$1/$2

endef
.PHONY: lib-tests
$(foreach build,$(LIB_TEST_BUILDS),$(eval $(call lib_test_build,$(build))))
-include $(wildcard $(LIB_TESTS)/*/*.d $(LIB_TESTS)/*/lib/*.d)
