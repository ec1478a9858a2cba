import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import type { Parts } from './parts.ts';

// The side of the test files: `await onStage('service')`. What they share is for tests that need no settings of their
// own, end nothing and read no list of everything; they take hashes and keys that no other file has.

/** The answer of a part. The first file that asks starts it; it runs on until the last test of the run. */
export async function onStage<Name extends keyof Parts>(name: Name): Promise<Parts[Name]> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath: inject('stage'), path: `/${encodeURIComponent(name)}` }, resolve)
      .on('error', reject)
      .end();
  });
  const answer = await text(response);
  if (response.statusCode !== 200) throw new Error(`the stage has no ${name}: ${answer}`);
  return JSON.parse(answer) as Parts[Name];
}
