import { modes } from '#platform/config/variable.ts';
import type { Command } from '../command.ts';
import type { CheckResult } from '../doctor/check.ts';
import { exitCode, UsageError } from '../exit-codes.ts';
import type { Badge } from '../output.ts';

/** `reelwright doctor`. */
export const doctor: Command = {
  name: 'doctor',
  args: '',
  argsMin: 0,
  argsMax: 0,
  doc: 'Checks what a process of the service is configured with, and names each fault with its remedy.',
  more: [
    'It reads the environment as the service does: run it where the service runs, such as in its pod.',
    'It changes nothing but a small object in each bucket that the service writes, which it deletes at once.',
  ].join('\n'),
  example: 'doctor --mode worker --json',
  options: {
    mode: { value: 'MODE', doc: `one of ${modes.join(', ')}; else MODE` },
    'callback-url': { value: 'URL', isMany: true, doc: 'a receiver of webhooks to look at too' },
  },
  run: async ({ env, options, output, signal }) => {
    const mode = options.word('mode', modes);
    const callbackUrls = options.all('callback-url');
    const wrong = callbackUrls.find((url) => !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol));
    if (wrong !== undefined) throw new UsageError(`--callback-url: expected http://… or https://…, found ${wrong}`);
    // Read here: every other command would wait for the databases' and the cluster's clients too.
    const [{ Ground, runChecks }, { checks }] = await Promise.all([
      import('../doctor/check.ts'),
      import('../doctor/index.ts'),
    ]);
    const ground = new Ground({ env, flags: mode === undefined ? [] : [`--mode=${mode}`], callbackUrls, signal });
    try {
      const results = await runChecks(checks, ground, (result) => {
        if (!output.isJson && !isExplained(result)) output.result(null, textOf(result), badges[result.status]);
      });
      const faults = results.filter(({ status }) => status === 'fault');
      const isHealthy = faults.length === 0;
      if (output.isJson) output.result({ healthy: isHealthy, checks: results }, '');
      else if (results.some(isExplained)) output.result(null, explained(results), badges.skipped);
      if (!output.isJson)
        output.note(isHealthy ? 'no fault was found' : `faults: ${faults.map(({ name }) => name).join(', ')}`);
      return isHealthy ? 0 : exitCode('unhealthy');
    } finally {
      await ground.close();
    }
  },
};

/** Whether a check was skipped because of an earlier fault. */
const isExplained = ({ reason }: CheckResult) => reason?.startsWith('needs ') === true;

function explained(results: readonly CheckResult[]): string {
  const names = results.filter(isExplained).map(({ name }) => name);
  return `${names.length} checks that say nothing before these faults are gone: ${names.join(', ')}`;
}

const badges: Readonly<Record<CheckResult['status'], Badge>> = {
  ok: { colour: 'green', word: 'ok     ' },
  warning: { colour: 'yellow', word: 'warning' },
  fault: { colour: 'red', word: 'fault  ' },
  skipped: { colour: 'dim', word: 'skipped' },
};

function textOf({ name, findings, reason }: CheckResult): string {
  const head = `${name}${reason === undefined ? '' : `: ${reason}`}`;
  const lines = findings.map((each) => `         ${each.fault}\n         → ${each.remedy}`);
  return [head, ...lines].join('\n');
}
