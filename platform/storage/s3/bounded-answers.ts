import type { S3Client } from '@aws-sdk/client-s3';
import { pipeline, Readable, Transform } from 'node:stream';

/**
 * The longest answers are pages of 1,000 keys: 1,024 bytes each, of which XML makes six each (`&quot;`), are 6.1 MB;
 * 2 kB are left for the rest of an entry.
 */
const answerBytesMax = 8 * 1024 * 1024;

class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong';
  /** The SDK repeats the request, as after a broken connection. */
  readonly $retryable = {};

  constructor() {
    super(`object storage answered over ${answerBytesMax} bytes`);
  }
}

/**
 * Limits the answers of a client, whose whole body the SDK holds in memory: an answer that is longer is an error, and
 * its connection is closed. Not for a client that gets objects.
 */
export function boundAnswers(client: S3Client): void {
  client.middlewareStack.add(
    (next) => async (input) => {
      const result = await next(input);
      const response = result.response as { body?: unknown };
      if (response.body instanceof Readable) response.body = bounded(response.body);
      return result;
    },
    // Next to the network: all others see the limited body.
    { name: 'boundAnswers', step: 'deserialize', priority: 'low' },
  );
}

function bounded(body: Readable): Readable {
  let sizeBytes = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sizeBytes += chunk.length;
      if (sizeBytes > answerBytesMax) done(new AnswerTooLong());
      else done(null, chunk);
    },
  });
  // An error of either destroys the other; the reader of the counter gets it.
  return pipeline(body, counter, () => undefined);
}
