#!/usr/bin/env node
import { exitCode } from './exit-codes.ts';
import { runCommandLine } from './run-command-line.ts';

// `reelwright`, the command line, as a process: Ctrl-C, the end of a pipe and the exit code.

const interruptMs = 1_000;

const interrupted = new AbortController();
// What does not listen to it, such as a read of standard input, ends with the process. So does a second Ctrl-C.
process.once('SIGINT', () => {
  interrupted.abort(new Error('interrupted'));
  setTimeout(() => process.exit(exitCode('interrupted')), interruptMs).unref();
});
// The reader of a pipe has ended, such as `head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2), process, interrupted.signal);
