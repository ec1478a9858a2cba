import type { FastifyInstance } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { faultOfToString } from '#domain/jobs/faults.ts';

/** The largest body of a request: 1 MiB, far over the largest valid submission. */
const bodyBytesMax = 1024 * 1024;

/**
 * Bodies are JSON in UTF-8 alone. `JSON.parse` makes `__proto__` an ordinary field, which the strict schemas refuse as
 * unknown, and takes the last value of a repeated name. An empty body is undefined: routes without a body accept it
 * under any content type.
 *
 * @param contentTypes what senders call it; Amazon SNS sends JSON as `text/plain`
 */
export function addJsonBody(app: FastifyInstance, contentTypes: readonly string[] = ['application/json']): void {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser([...contentTypes], { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    const encoding = request.headers['content-encoding'];
    if (encoding !== undefined && encoding !== 'identity') return done(new KnownProblem('unsupported_media_type'));
    let text: string;
    try {
      text = decoder.decode(body as Buffer);
    } catch (cause) {
      return done(new KnownProblem('invalid_json', 'The body is not valid UTF-8.', { cause }));
    }
    let document: unknown;
    try {
      document = JSON.parse(text);
    } catch (cause) {
      return done(new KnownProblem('invalid_json', jsonFault(text, cause), { cause }));
    }
    const fault = faultOfToString(document);
    return fault === null
      ? done(null, document)
      : done(new KnownProblem('invalid_request', undefined, { faults: [fault] }));
  });
}

/** Above this length the place of an unexpected token is not searched for. */
const searchedCharactersMax = 64 * 1024;

/** Where and why `text` is not JSON. */
function jsonFault(text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  const [, reason = '', position] =
    /^(.+?)(?: in JSON)? at position (\d+)/.exec(message) ?? /^(Unexpected token '.+?'),/su.exec(message) ?? [];
  if (reason === '') return 'The JSON ends too early.';
  const said = reason.charAt(0).toLowerCase() + reason.slice(1);
  if (position === undefined && text.length > searchedCharactersMax) return `The body is not JSON: ${said}.`;
  const at = position === undefined ? unexpectedTokenIn(text) : Number(position);
  const lines = text.slice(0, at).split('\n');
  return `Line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: ${said}.`;
}

/** The place of an unexpected token, which V8 does not report: the shortest prefix that has it ends with it. */
function unexpectedTokenIn(text: string): number {
  let [valid, invalid] = [0, text.length];
  while (invalid - valid > 1) {
    const middle = Math.floor((valid + invalid) / 2);
    if (hasUnexpectedToken(text.slice(0, middle))) invalid = middle;
    else valid = middle;
  }
  return invalid - 1;
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith('Unexpected token');
  }
}
