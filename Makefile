# Every target first installs what it needs (scripts/needs): a fresh clone needs only make, Node and npm.
export PATH := $(CURDIR)/node_modules/.bin:$(CURDIR)/.tools/bin:$(PATH)

.PHONY: help demo test faults chaos crossings disturb planted fuzz mutate test-k8s e2e bench check lint types dead-code unit
.PHONY: format generate needs clean
.PHONY: test-deep audit distclean recording

help:
	@echo 'make demo       encrypt and play a sample video; ONCE=1 ends after the checks, INPUT=FILE uses your video, image or audio'
	@echo 'make check      lint, types, dead code and unit tests, in under a minute'
	@echo 'make test       unit and service tests, these against real servers; TEST_FLAGS are passed to vitest'
	@echo 'make test-deep  every combination: crashes, corpora, players, long encodes; SLICE=2/6 runs a sixth,'
	@echo '                SLICE=auto the sixth of this commit and what reaches its changes; likewise test-k8s, e2e'
	@echo 'make test ONLY=changed, or ONLY="domain/errors.ts …"   the tests that reach these files by imports, in two minutes'
	@echo 'make faults     a crash, failure, delay or lost answer at an eighth of all writes; FAULTS_SLICE=1 the next, FAULTS_SHARE=1 all'
	@echo 'make chaos      jobs of all types and a random fault every few seconds; MINUTES=15, SEED=1 repeats the faults'
	@echo 'make crossings  callers and workers that meet on the same few media at once, frozen at random; MINUTES=5, SEED=1'
	@echo 'make disturb    jobs on a cluster that is played, and what people do to them by hand; MINUTES=1, SEED=1'
	@echo 'make planted    bugs that make faults, make chaos and make crossings must find, each in a run of its own'
	@echo 'make fuzz       hostile input for every parser; MINUTES=5 in all, FUZZ_SEED=1 repeats a run'
	@echo 'make mutate     changes of the rules that no unit test notices; ONLY=domain/playback for a folder or file, SINCE=7.days'
	@echo 'make audit      known holes and licences of the packages that are installed'
	@echo 'make test-k8s   the controller against a real control plane of Kubernetes (KUBEBUILDER_ASSETS, else the official envtest download)'
	@echo 'make bench      benchmarks against other programs in the same run; BENCH=stream,thumb selects some, BENCH=quick is brief'
	@echo 'make e2e        the chart on a real cluster (KUBECONFIG, else created by kind; see scripts/e2e for images)'
	@echo 'make recording  the recording at the head of README.md, by a test that walks through the demo'
	@echo 'make format     format every file with prettier'
	@echo 'make generate   write every generated file: CRDs, settings of the chart, types of the clients, tables of docs, pages of tried media'
	@echo 'make clean      remove the data of the demo and the results of tests'
	@echo 'make distclean  clean, and remove node_modules and .tools'

# SLICE=2/6 runs a part of a tier, SLICE=auto the part that the commit chooses; scripts/run-tiers.ts reads it.
RUN_TIERS = node scripts/run-tiers.ts
export SLICE

# The program reads ONCE, INPUT and PORT from its environment.
demo:
	@scripts/needs demo && exec node demo/main.ts

test:
	@scripts/needs test && \
	  $(if $(ONLY),node scripts/test-only.ts $(ONLY) --,$(RUN_TIERS) unit service --) $(TEST_FLAGS)

test-deep:
	@scripts/needs deep && $(RUN_TIERS) deep -- $(TEST_FLAGS)

# Of every fault at every write of every scenario an eighth, about an hour; `make test` makes one of each scenario.
faults:
	@scripts/needs test && FAULTS_SHARE=$(or $(FAULTS_SHARE),8) FAULTS_SLICE=$(or $(FAULTS_SLICE),0) \
	  vitest run test/faults/writes.deep.test.ts $(TEST_FLAGS)

chaos:
	@scripts/needs test && CHAOS_MINUTES=$(or $(MINUTES),15) CHAOS_SEED=$(or $(SEED),1) \
	  vitest run test/faults/chaos.deep.test.ts $(TEST_FLAGS)

# Without a second try: what a seed finds only now and then is a violation too.
crossings:
	@scripts/needs test && CROSSINGS_MINUTES=$(or $(MINUTES),5) CROSSINGS_SEED=$(or $(SEED),1) \
	  vitest run --retry=0 test/integration/crossings.deep.test.ts $(TEST_FLAGS)

planted:
	@scripts/needs test && PLANTED=all vitest run test/faults/planted.deep.test.ts \
	  test/integration/planted-crossings.deep.test.ts $(TEST_FLAGS)

# Each property has an equal share of the time.
fuzz: needs
	@FUZZ_MINUTES=$(or $(MINUTES),5) vitest run --project unit --no-file-parallelism --silent=false test/fuzz $(TEST_FLAGS)

# One worker, beside other work; WORKERS=2 has more.
mutate: needs
	@SINCE=$(SINCE) WORKERS=$(or $(WORKERS),1) nice -n 10 node scripts/mutate.ts $(ONLY)

audit: needs
	@node scripts/audit.ts

# A separate run: the files share one control plane (test/k8s/vitest.config.ts).
test-k8s:
	@scripts/needs test && assets=$$(scripts/envtest) && \
	  KUBEBUILDER_ASSETS=$$assets $(RUN_TIERS) k8s -- $(TEST_FLAGS)

disturb:
	@DISTURB_SEED=$(or $(SEED),1) DISTURB_SECONDS=$$((60 * $(or $(MINUTES),1))) \
	  $(MAKE) --no-print-directory test-k8s TEST_FLAGS='--retry=0 test/k8s/by-hand.test.ts $(TEST_FLAGS)'

# The program reads BENCH from its environment.
bench:
	@scripts/needs bench && exec node bench/main.ts

recording:
	@scripts/needs test && RECORDING=docs/demo.webp vitest run test/integration/demo-walk.deep.test.ts

e2e:
	@scripts/needs e2e && $(RUN_TIERS) e2e -- $(TEST_FLAGS)

# Two at once; what each prints stays together.
check:
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint types dead-code unit

lint: needs
	@oxlint --type-aware && prettier --check --cache --log-level warn .
	@if command -v actionlint >/dev/null; then actionlint; fi

# What has not changed since the last run is not checked again.
built = --incremental --tsBuildInfoFile node_modules/.cache/types/$(1).json
types: needs
	@tsc $(call built,all) && tsc -p web $(call built,web) && tsc -p web/console $(call built,console)

dead-code: needs
	@knip --cache --cache-location node_modules/.cache/knip

unit: needs
	@vitest run --project unit $(TEST_FLAGS)

format: needs
	@prettier --write --log-level warn .

generate:
	@scripts/needs generate
	@failed=0; for program in scripts/generate-*.ts; do \
	  case $$program in *.test.ts) ;; *) node $$program || failed=1 ;; esac; \
	done; prettier --write --log-level warn test/integration/corpus-*.md charts/reelwright crds && exit $$failed

needs:
	@scripts/needs check

# Only what the demo and the tests made: .reelwright itself may hold files of the user, such as secrets.
clean:
	rm -rf .reelwright/demo .reelwright/demo-[2-8] test-results node_modules/.cache
	@rmdir .reelwright 2>/dev/null || true

distclean: clean
	rm -rf node_modules .tools
