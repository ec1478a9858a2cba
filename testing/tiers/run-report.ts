import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** The summary of a run of vitest. */
export interface RunSummary {
  readonly passed: number;
  /** Tests, files that did not load, and errors outside of every test. */
  readonly failed: number;
  readonly skipped: number;
  /** The tests that failed, with the messages of each try. */
  readonly failures: readonly string[];
  /** The tests that passed only when they were tried again, with the messages of the tries before. */
  readonly retried: readonly string[];
  /** Skipped tests of each file. */
  readonly skippedIn: Readonly<Record<string, number>>;
  /** Seconds of each file. */
  readonly seconds: Readonly<Record<string, number>>;
}

/** Where the summary of the last run lies, below the root of the checkout. */
export const runSummaryFile = 'test-results/last-run.json';

/**
 * Lists at the end of a run what passed only when it was tried again, which is a defect of the test or of the code, and
 * what was skipped; and leaves the summary for `scripts/run-tiers.ts`.
 */
export class RunReport implements Reporter {
  readonly #root: string;
  #startedMs = new Map<string, number>();
  #seconds: Record<string, number> = {};

  /** @param root the root of the checkout */
  constructor(root: string) {
    this.#root = root;
  }

  onTestModuleStart(module: TestModule): void {
    this.#startedMs.set(module.moduleId, Date.now());
  }

  onTestModuleEnd(module: TestModule): void {
    const startedMs = this.#startedMs.get(module.moduleId) ?? Date.now();
    const collectMs = module.diagnostic().collectDuration;
    this.#seconds[this.#pathOf(module)] = Math.round((Date.now() - startedMs + collectMs) / 100) / 10;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const summary = this.#summaryOf(modules, errors);
    const file = `${this.#root}/${runSummaryFile}`;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(summary));
    process.stdout.write(closingText(summary));
  }

  #summaryOf(modules: readonly TestModule[], errors: readonly SerializedError[]): RunSummary {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string) => tests.filter((test) => test.result().state === state);
    const unloaded = modules.filter((module) => module.errors().length > 0);
    const failed = inState('failed');
    const retried = inState('passed').filter((test) => (test.result().errors?.length ?? 0) > 0);
    return {
      passed: inState('passed').length,
      failed: failed.length + unloaded.length + errors.length,
      skipped: inState('skipped').length,
      failures: [
        ...failed.map((test) => this.#described(test)),
        ...unloaded.map((module) => `${this.#pathOf(module)}\n${messagesOf(module.errors())}`),
        ...errors.map((error) => `outside of every test\n${messagesOf([error])}`),
      ],
      retried: retried.map((test) => this.#described(test)),
      skippedIn: countsOf(inState('skipped').map((test) => this.#pathOf(test.module))),
      seconds: this.#seconds,
    };
  }

  #described(test: TestCase): string {
    return `${this.#pathOf(test.module)}: ${test.fullName}\n${messagesOf(test.result().errors ?? [])}`;
  }

  #pathOf(module: TestModule): string {
    return relative(this.#root, module.moduleId);
  }
}

/** Each message, and the difference that the message of a comparison leaves out (`expected [ …(4) ]`). */
function messagesOf(errors: readonly { readonly message: string; readonly diff?: string }[]): string {
  return errors
    .flatMap(({ message, diff }) => [message, ...(diff === undefined ? [] : [stripVTControlCharacters(diff)])])
    .map((text) => `  ${text.slice(0, 1000)}`)
    .join('\n');
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** The closing text of a run that is otherwise green. */
function closingText({ retried, skippedIn }: Pick<RunSummary, 'retried' | 'skippedIn'>): string {
  const again = retried.map((test) => `passed only when it was tried again: ${test}\n`);
  const skipped = Object.entries(skippedIn).map(
    ([file, count]) => `skipped: ${count} of ${file}; to run them: vitest run ${file}\n`,
  );
  return [...again, ...skipped].join('');
}
