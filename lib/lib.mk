# SPDX-License-Identifier: MIT
# libpantrace, static and shared, and its tests. No dependency but libc.

LIB_SRC	   := $(sort $(wildcard lib/*.c))
LIB_CFLAGS := -std=gnu17 $(CFLAGS_$(BUILD)) $(WARNINGS) -ffile-prefix-map=$(CURDIR)/= -fPIC -fno-omit-frame-pointer
LIB_CPP	   := -D_GNU_SOURCE -Iinclude
LIB_OBJS   := $(LIB_SRC:%.c=$(OBJ)/%.pic.o)
LIB_A	   := $(if $(filter release,$(BUILD)),$(O)/libpantrace.a,$(OBJ)/libpantrace.a)
LIB_SO	   := $(if $(filter release,$(BUILD)),$(O)/libpantrace.so,$(OBJ)/libpantrace.so)
# ready-made instrumentation, each a library to preload or to link
LIB_READY  := $(patsubst lib/instrument/%.c,$(dir $(LIB_A))libpantrace-%.so,$(sort $(wildcard lib/instrument/*.c)))
LIB_SONAME := libpantrace.so.0

.PHONY: lib lib-check lib-install
lib: $(LIB_A) $(LIB_SO) $(LIB_READY)
all: lib
install: lib-install

$(OBJ)/lib/%.pic.o: lib/%.c
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(LIB_CPP) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<

$(LIB_A): $(LIB_OBJS)
	@mkdir -p $(@D)
	@echo "  AR   $@"
	$(Q)rm -f $@ && ar rcs $@ $^

# nodelete: threads may be in it when its last user is unloaded
$(LIB_SO): $(LIB_OBJS) lib/libpantrace.map
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(filter-out -static,$(LDFLAGS_$(BUILD))) -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=lib/libpantrace.map -Wl,-z,nodelete -Wl,-z,relro,-z,now -o $@ $(LIB_OBJS)
	$(Q)ln -sf $(@F) $(@D)/$(LIB_SONAME)

$(dir $(LIB_A))libpantrace-%.so: lib/instrument/%.c $(LIB_SO)
	@echo "  LINK $@"
	$(Q)$(CC) $(LIB_CPP) $(LIB_CFLAGS) -shared $(filter-out -static,$(LDFLAGS_$(BUILD))) -Wl,-z,nodelete -Wl,-z,relro,-z,now \
		-Wl,-rpath,'$$ORIGIN' -o $@ $< $(LIB_SO) -ldl -lpthread

lib-check: lib lib-tests
	$(Q)LIB_DIR=$(O) prove --exec "" --timer tests/lib/*.t

lib-install: lib
	install -d "$(DESTDIR)$(PREFIX)/include/pantrace" "$(DESTDIR)$(PREFIX)/lib/pkgconfig"
	install -m 644 include/pantrace/*.h "$(DESTDIR)$(PREFIX)/include/pantrace/"
	install -m 644 $(LIB_A) "$(DESTDIR)$(PREFIX)/lib/"
	install -m 755 $(LIB_SO) "$(DESTDIR)$(PREFIX)/lib/libpantrace.so.0.1"
	install -m 755 $(LIB_READY) "$(DESTDIR)$(PREFIX)/lib/"
	install -d "$(DESTDIR)$(PREFIX)/include/pantrace/detail" "$(DESTDIR)$(PREFIX)/include/pantrace/lttng"
	install -m 644 include/pantrace/detail/*.h "$(DESTDIR)$(PREFIX)/include/pantrace/detail/"
	install -m 644 include/pantrace/lttng/*.h "$(DESTDIR)$(PREFIX)/include/pantrace/lttng/"
	ln -sf libpantrace.so.0.1 "$(DESTDIR)$(PREFIX)/lib/$(LIB_SONAME)"
	ln -sf $(LIB_SONAME) "$(DESTDIR)$(PREFIX)/lib/libpantrace.so"
	[ -n "$(DESTDIR)" ] || [ "$$(id -u)" != 0 ] || ldconfig
	sed -e 's|@RPATH@|$(if $(filter /usr,$(PREFIX)),, -Wl,-rpath,$${libdir})|' \
		-e 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(shell cat VERSION)|' lib/pantrace.pc.in \
		>"$(DESTDIR)$(PREFIX)/lib/pkgconfig/pantrace.pc"

include tests/lib/tests.mk
