import { KubeError } from './errors.ts';

const mebibyte = 1024 * 1024;

// An API server answers less than these limits; an answer without an end must not take the memory of the controller.

/**
 * The limit of the answer to a request: a page of 500 MediaJobs of at most 100 kB is 50 MB, and a list without pages,
 * which follows an expired page, is 200 MB for 10,000 pods of 20 kB.
 */
export const answerBytesMax = 256 * mebibyte;

/** The limit of a refusal: a Status names the refused fields of one object, with their values. */
export const refusalBytesMax = 4 * mebibyte;

/**
 * The limit of an event of a watch, in characters: etcd holds 1.5 MiB of an object, which JSON makes a few times as
 * long.
 */
const lineLengthMax = 8 * mebibyte;

/** The text of an answer. @throws KubeError `Unreachable` for a longer one, whose connection is closed */
export async function answerText(body: AsyncIterable<Buffer>, bytesMax: number, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  // Leaving the loop destroys the body, and with it the connection.
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) throw unreachable(`${what}: the answer has over ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks, sizeBytes));
}

/**
 * Whole lines of a stream. @throws KubeError `Unreachable` when it ends within a line, and for a line that is too long
 */
export async function* linesOf(chunks: AsyncIterable<string>, what: string): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const chunk of chunks) {
    // Only the new text is searched: an object may come in hundreds of chunks.
    const [first = '', ...others] = chunk.split('\n');
    rest += first;
    for (const other of others) {
      yield rest;
      rest = other;
    }
    if (rest.length > lineLengthMax) throw unreachable(`${what}: an event has over ${lineLengthMax} characters`);
  }
  if (rest.trim() !== '') throw unreachable(`${what}: the connection broke`);
}

function unreachable(message: string): KubeError {
  return new KubeError(message, { status: 0, reason: 'Unreachable' });
}
