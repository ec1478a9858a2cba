#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { Reelwright } from '../clients/typescript/src/index.ts';
import { programVersion } from '#platform/telemetry/program-version.ts';
import { checkArgs, findCommand, readCall } from './command.ts';
import { commands } from './commands/index.ts';
import { exitCode, exitCodeOf } from './exit-codes.ts';
import { helpOf, helpOfAll } from './help.ts';
import { openOutput, printError } from './output.ts';
import { serverOf } from './settings.ts';

// `reelwright`, the command line: finds the command, runs it, and ends with the exit code of its error.

const interruptMs = 1_000;
/** As many repetitions as a restart of the service takes. */
const retry = { attempts: 12, waitSecMax: 300 };

async function main(argv: readonly string[]): Promise<number> {
  const { env, stdout, stderr } = process;
  if (argv[0] === '--version' || argv[0] === 'version') {
    stdout.write(`${programVersion()}\n`);
    return 0;
  }
  const call = findCommand(argv, commands);
  if ('helpOf' in call) {
    stdout.write(helpOfAll(call.helpOf));
    return 0;
  }
  const { args, options } = readCall(call);
  if (options.flag('help')) {
    stdout.write(helpOf(call.command));
    return 0;
  }
  checkArgs(call.command, args);
  const server = () => serverOf(env, options.text('server'));
  const context = {
    args,
    options,
    env,
    output: openOutput({ isJson: options.flag('json'), env, stdout, stderr }),
    signal: interrupted.signal,
    server,
    client: async () => {
      const { base_url: baseUrl, api_key: apiKey } = await server();
      return new Reelwright({ baseUrl, apiKey, retry });
    },
    stdin: () => text(process.stdin),
  };
  return (await call.command.run(context)) ?? 0;
}

const interrupted = new AbortController();
// What does not listen to it, such as a read of standard input, ends with the process. So does a second Ctrl-C.
process.once('SIGINT', () => {
  interrupted.abort(new Error('interrupted'));
  setTimeout(() => process.exit(exitCode('interrupted')), interruptMs).unref();
});
// The reader of a pipe has ended, such as `head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const argv = process.argv.slice(2);
try {
  process.exitCode = await main(argv);
} catch (error) {
  if (interrupted.signal.aborted) process.exitCode = exitCode('interrupted');
  else {
    printError(error, { isJson: argv.includes('--json'), stderr: process.stderr });
    process.exitCode = exitCodeOf(error);
  }
}
