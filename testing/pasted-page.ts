import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from './controller-rig.ts';

// Pages whose blocks a test pastes into one shell, as a reader does. A block that needs a cluster or another host has a
// comment of HTML in the line before it: `<!-- not pasted: why -->`.

/** A block of code of a page. */
export interface PageBlock {
  /** The language, such as `sh`, and what follows it in the first line. */
  readonly language: string;
  readonly info: string;
  readonly code: string;
  /** The reason why it is not pasted; null for a block that is. */
  readonly notPasted: string | null;
}

const blockPattern = /(?:^<!-- not pasted: (.+) -->\n\n?)?^```(\w*)(?: (.*))?\n([\s\S]*?)^```$/gm;

/** The blocks of a page, in its order. */
export function blocksOfPage(page: string): PageBlock[] {
  return [...page.matchAll(blockPattern)].map(([, reason, language = '', info = '', code = '']) => ({
    language,
    info,
    code,
    notPasted: reason ?? null,
  }));
}

interface ShellOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The time limit of each block. */
  readonly timeoutMs?: number;
}

/** A shell that takes one block after another, as a terminal does. */
export interface PastedShell {
  /** All that was printed so far. */
  output(): string;
  /** The output of a block. @throws Error with the output when it fails */
  run(script: string): Promise<string>;
  /** Ends the shell, and what runs on in its background. */
  close(): Promise<void>;
}

/** Starts a shell with these variables alone. */
export function openShell({ cwd, env, timeoutMs = 90_000 }: ShellOptions): PastedShell {
  const shell = spawn('bash', ['--noprofile', '--norc'], { cwd, env, detached: true });
  const closed = once(shell, 'close');
  let output = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    output: () => output,
    async run(script) {
      const from = output.length;
      shell.stdin.write(`${script}\necho "ended $?"\n`);
      await until(
        async () => output.slice(from),
        (text) => /ended \d+\n/.test(text),
        timeoutMs,
      );
      const text = output.slice(from);
      if (!text.includes('ended 0\n')) throw new Error(`a block failed: ${script}${text}`);
      return text.replace(/ended 0\n/, '');
    },
    async close() {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
      await closed;
    },
  };
}
