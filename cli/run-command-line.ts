import { Reelwright } from '../clients/typescript/src/index.ts';
import { programVersion } from '#platform/telemetry/program-version.ts';
import { checkArgs, findCommand, readCall } from './command.ts';
import { commands } from './commands/index.ts';
import { exitCode, exitCodeOf } from './exit-codes.ts';
import { helpOf, helpOfAll } from './help.ts';
import { type InputStreams, openInput } from './input.ts';
import { openOutput, type Outlet, printError } from './output.ts';
import { type Env, serverOf } from './settings.ts';

/** As many repetitions as a restart of the service takes. */
const retry = { attempts: 12, waitSecMax: 300 };

/** What a process gives to the command line: `process`, or the streams of a test. */
export interface HostProcess extends InputStreams {
  readonly env: Env;
  readonly stdout: Outlet;
  readonly stderr: NodeJS.WritableStream & Outlet;
}

/**
 * Finds the command that the arguments name, runs it and prints its error, if there is one. The exit code; that of an
 * interruption when the signal is aborted. Relative file names are those of the current folder of the process.
 */
export async function runCommandLine(argv: readonly string[], host: HostProcess, signal: AbortSignal): Promise<number> {
  try {
    return await run(argv, host, signal);
  } catch (error) {
    if (signal.aborted) return exitCode('interrupted');
    printError(error, { isJson: argv.includes('--json'), stderr: host.stderr });
    return exitCodeOf(error);
  }
}

async function run(argv: readonly string[], host: HostProcess, signal: AbortSignal): Promise<number> {
  const { env, stdout, stderr } = host;
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
    input: openInput(host),
    output: openOutput({ isJson: options.flag('json'), env, stdout, stderr }),
    signal,
    server,
    client: async () => {
      const { base_url: baseUrl, api_key: apiKey } = await server();
      return new Reelwright({ baseUrl, apiKey, retry });
    },
  };
  return (await call.command.run(context)) ?? 0;
}
