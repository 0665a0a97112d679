# Kernwright. `make help` lists the targets, `./bootstrap TARGET` installs the packages first.
#
# Sources are found by wildcard: a new file in a folder below is built without a change here. A test is a file
# tests/test_NAME.c with its own main(), linked with the library and with tests/support*.c. Tests run in this folder.

VERSION := $(shell cat VERSION)
ABI     := 0
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANG      ?= clang
PKG_CONFIG ?= pkg-config

# SAN=address or SAN=undefined (with its own BUILD folder) is what `make asan` and `make ubsan` pass to themselves.
SAN ?=
OPT ?= -O2 -g

PACKAGES := libcjson gsl hwloc OpenCL sqlite3 zlib libxxhash libuv
LIB_DIRS := base codegen device tuner llm fleet

MODULE_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
MODULE_LIBS   := $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null)
TEST_CFLAGS    = $(shell $(PKG_CONFIG) --cflags cmocka 2>/dev/null)
TEST_LIBS      = $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null)

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wswitch-enum \
            -Wformat=2 -Wpointer-arith -Wvla
ifneq ($(CI)$(WERROR),)
WARNINGS += -Werror
endif
ifneq ($(SAN),)
SAN_FLAGS := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are left to the user.
KW_CPPFLAGS = -I. -D_GNU_SOURCE -DKERNWRIGHT_VERSION='"$(VERSION)"' $(MODULE_CFLAGS) $(CPPFLAGS)
KW_CFLAGS   = -std=c17 $(OPT) -fPIC $(WARNINGS) $(SAN_FLAGS) $(CFLAGS)
KW_LDFLAGS  = $(SAN_FLAGS) -Wl,--as-needed $(LDFLAGS)
KW_LDLIBS   = $(MODULE_LIBS) $(LDLIBS) -lm -ldl -pthread

LIB_SRC     := $(wildcard $(addsuffix /*.c,$(LIB_DIRS)) tasks/*/reference.c)
CLI_SRC     := $(wildcard cli/*.c)
TEST_SRC    := $(wildcard tests/test_*.c)
SUPPORT_SRC := $(wildcard tests/support*.c)
GPU_SRC     := $(wildcard tests/gpu/test_*.c)
FUZZ_SRC    := $(wildcard tests/fuzz/fuzz_*.c)
HEADERS     := $(wildcard $(addsuffix /*.h,$(LIB_DIRS)) tasks/*.h)
ALL_C       := $(LIB_SRC) $(CLI_SRC) $(TEST_SRC) $(SUPPORT_SRC) $(GPU_SRC) $(wildcard tests/fuzz/*.c)
ALL_H       := $(HEADERS) $(wildcard cli/*.h tests/*.h)

OBJ      := $(BUILD)/obj
LIB_OBJ  := $(LIB_SRC:%.c=$(OBJ)/%.o)
CLI_OBJ  := $(CLI_SRC:%.c=$(OBJ)/%.o)
SUP_OBJ  := $(SUPPORT_SRC:%.c=$(OBJ)/%.o)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
GPU_TEST := $(GPU_SRC:tests/gpu/%.c=$(BUILD)/tests/gpu/%)
FUZZERS  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
STATIC   := $(BUILD)/libkernwright.a
SHARED   := $(BUILD)/libkernwright.so.$(VERSION)
SONAME   := libkernwright.so.$(ABI)
PROGRAM  := $(if $(CLI_SRC),$(BUILD)/kernwright)

# V=1 shows whole commands.
Q   = $(if $(V),,@)
say = @$(if $(V),:,printf '  %-4s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check check-gpu bench demo asan ubsan fuzz valgrind format lint help clean install bundle tests FORCE

## all: the library (static and shared) and the program; what plain `make` does
all: modules $(STATIC) $(BUILD)/libkernwright.so $(PROGRAM)

# One clear line instead of a page of missing headers.
.PHONY: modules
modules:
	@$(PKG_CONFIG) --exists --print-errors $(PACKAGES) || \
	  { echo "make: libraries are missing; run ./bootstrap all" >&2; exit 3; }

# Objects depend on the flags they were compiled with, so that a change of CC, SAN or VERSION rebuilds them.
$(OBJ)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(subst ','\'',$(KW_CPPFLAGS) $(KW_CFLAGS) $(KW_LDFLAGS))' > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

$(OBJ)/prefix: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(PREFIX)' > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

$(OBJ)/base/fs.o: $(OBJ)/prefix
$(OBJ)/base/fs.o: KW_CPPFLAGS += -DKERNWRIGHT_PREFIX='"$(PREFIX)"'
$(OBJ)/tests/%.o: KW_CPPFLAGS += $(TEST_CFLAGS)

$(OBJ)/%.o: %.c $(OBJ)/flags | modules
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(KW_CPPFLAGS) $(KW_CFLAGS) -MMD -MP -c -o $@ $<

$(STATIC): $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcs $@ $^

$(SHARED): $(LIB_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -shared -Wl,-soname,$(SONAME) -o $@ $^ $(KW_LDLIBS)

$(BUILD)/libkernwright.so: $(SHARED)
	@ln -sf $(<F) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/kernwright: $(CLI_OBJ) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(KW_LDLIBS)

tests: $(TESTS) $(FUZZERS)

$(TESTS): $(BUILD)/tests/%: $(OBJ)/tests/%.o $(SUP_OBJ) $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(KW_LDLIBS)

$(GPU_TEST): $(BUILD)/tests/gpu/%: $(OBJ)/tests/gpu/%.o $(SUP_OBJ) $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(KW_LDLIBS)

-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d)

TEST_ENV = BUILD='$(abspath $(BUILD))' CC='$(CC)' CXX='$(CXX)' SAN='$(SAN)'

## check: every test that needs no GPU (PoCL serves as the device); ends with `check: passed=N failed=N skipped=N`
check: all tests
	@$(TEST_ENV) tools/run-tests.sh check $(TESTS) $(FUZZERS) $(wildcard tests/*.sh)

## clean: removes what this Makefile builds
clean:
	rm -rf $(BUILD) build-asan build-ubsan build-fuzz build-libfuzzer

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' Makefile | awk -F'\t' '{ printf "  %-10s %s\n", $$1, $$2 }'

FORCE:
