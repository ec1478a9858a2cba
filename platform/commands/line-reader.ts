import { StringDecoder } from 'node:string_decoder';

/** A line longer than this is cut: an endless line must not fill the memory. */
const lineLengthMax = 64 * 1024;

/** Cuts a stream of bytes into lines; `\n`, `\r\n` and `\r` (how ffmpeg overwrites its statistics) end one. */
export class LineReader {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  write(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split(/\r?\n|\r(?!$)/);
    this.#rest = (lines.pop() ?? '').slice(0, lineLengthMax);
    for (const line of lines) this.#onLine(line.slice(0, lineLengthMax));
  }

  /** The last line, when nothing ended it. */
  end(): void {
    const rest = (this.#rest + this.#decoder.end()).replace(/\r$/, '');
    this.#rest = '';
    if (rest !== '') this.#onLine(rest);
  }
}
