import { createInterface } from 'node:readline/promises';
import { type Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

// Standard input: a text that is read whole, or a person at a terminal who is asked.

export interface Input {
  /** Whether a person types it. */
  readonly isTerminal: boolean;
  /** All of it. */
  text(): Promise<string>;
  /** A line that a person types after the prompt. */
  ask(prompt: string, signal: AbortSignal): Promise<string>;
  /** The same for a line that is not shown. */
  askSecret(prompt: string, signal: AbortSignal): Promise<string>;
}

/** The stream to read from, and the one that prompts are written to. */
export interface InputStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stderr: NodeJS.WritableStream;
}

/** `streams.stdin` is only looked up when a command asks for it: a process opens it at that moment. */
export function openInput(streams: InputStreams): Input {
  return {
    get isTerminal() {
      return streams.stdin.isTTY === true;
    },
    text: () => text(streams.stdin),
    ask: async (prompt, signal) => {
      const terminal = createInterface({ input: streams.stdin, output: streams.stderr });
      try {
        return await terminal.question(prompt, { signal });
      } finally {
        terminal.close();
      }
    },
    askSecret: async (prompt, signal) => {
      streams.stderr.write(prompt);
      const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
      const terminal = createInterface({ input: streams.stdin, output: unseen, terminal: true });
      try {
        return await terminal.question('', { signal });
      } finally {
        terminal.close();
        streams.stderr.write('\n');
      }
    },
  };
}
