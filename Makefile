# Every target installs what it needs first (scripts/needs), so a fresh clone needs nothing but make, Node and npm.
export PATH := $(CURDIR)/node_modules/.bin:$(CURDIR)/.tools/bin:$(PATH)

.PHONY: help demo test test-k8s e2e bench check lint types dead-code unit format needs clean

help:
	@echo 'make demo     a video goes in, an encrypted stream plays; ONCE=1 ends by itself, INPUT=clip.mp4 takes your file'
	@echo 'make check    lint, types, dead code and unit tests, in under a minute'
	@echo 'make test     every test, against real servers; TEST_FLAGS goes to vitest'
	@echo 'make test-k8s the controller against a real kube-apiserver (KUBEBUILDER_ASSETS, else the official envtest download)'
	@echo 'make bench    delivery, images, submissions and MediaJobs against peers of the same run; BENCH=stream,thumb runs some'
	@echo 'make e2e      the chart on a real cluster (KUBECONFIG, else one by kind; scripts/e2e says how images come there)'
	@echo 'make format   write every file as prettier wants it'
	@echo 'make clean    remove what the targets installed and made'

# ONCE and INPUT reach the program through its environment.
demo:
	@scripts/needs demo && exec node demo/main.ts

test:
	@scripts/needs test && vitest run $(TEST_FLAGS)

# A run of its own, one file after another: they share one etcd, which some of them compact.
test-k8s:
	@scripts/needs test && assets=$$(scripts/envtest) && KUBEBUILDER_ASSETS=$$assets vitest run --config test/k8s/vitest.config.ts $(TEST_FLAGS)

# BENCH reaches the program through its environment.
bench:
	@scripts/needs bench && exec node bench/main.ts

e2e:
	@scripts/needs e2e && scripts/e2e $(TEST_FLAGS)

check: lint types dead-code unit

lint: needs
	@oxlint --type-aware && prettier --check --cache --log-level warn .

types: needs
	@tsc

dead-code: needs
	@knip

unit: needs
	@vitest run --project unit $(TEST_FLAGS)

format: needs
	@prettier --write --log-level warn .

needs:
	@scripts/needs check

clean:
	rm -rf node_modules .tools .reelwright
