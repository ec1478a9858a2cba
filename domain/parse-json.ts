import { faultOfToString } from './jobs/faults.ts';

/** Whether a field may be called `toString`, also in escapes; nearly no document has either. */
const mayHaveToString = /toString|\\u/;

/**
 * The value of JSON that another process wrote.
 *
 * @throws SyntaxError for what is no JSON, and for a field `toString`, which makes schemas throw (`faultOfToString`)
 */
export function parseJson(json: string): unknown {
  const document: unknown = JSON.parse(json);
  const fault = mayHaveToString.test(json) ? faultOfToString(document) : null;
  if (fault !== null) throw new SyntaxError(`${fault.detail}, as at "${fault.pointer}"`);
  return document;
}
