import { describe, expect, it } from 'vitest';

// Readers of documents: each takes a valid one, and refuses it with any one of its faults.

export interface DocumentCase {
  /** Reads JSON; throws for what is no such document. */
  readonly read: (json: string) => unknown;
  readonly valid: object;
  /** The document that the reader gives for it; by default the same. */
  readonly gives?: object;
  /** A place in the document, such as `tracks.0.kind`, and a value that makes it faulty; undefined removes it. */
  readonly faults: readonly DocumentFault[];
}
export type DocumentFault = readonly [path: string, value: unknown];

/** One test for each fault, and for a document that is cut off. */
export function describeDocuments(cases: Readonly<Record<string, DocumentCase>>): void {
  describe.each(Object.entries(cases))('%s', (_, { read, valid, gives = valid, faults }) => {
    it('is read as it was written', () => {
      expect(read(JSON.stringify(valid))).toEqual(gives);
    });

    it.each(faults.map(([path, value]) => ({ path, with: shown(value), value })))(
      'with $with as $path is refused',
      ({ path, value }) => {
        expect(() => read(JSON.stringify(changed(valid, path, value)))).toThrow();
      },
    );

    it('is refused when it is cut off, or no document at all', () => {
      for (const text of [JSON.stringify(valid).slice(0, -1), 'null', '[]', '', 'a tool says: {"type":"end"}'])
        expect(() => read(text)).toThrow();
    });
  });
}

/** The faults of a text that must match a pattern as a whole. */
export function around(path: string, value: string): DocumentFault[] {
  return [
    [path, `x${value}`],
    [path, `${value}x`],
  ];
}

/** A list of one value, so many times. */
export function many<T>(length: number, each: T): T[] {
  return Array.from({ length }, () => each);
}

const shown = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, 40);

/** The document with another value at a place. */
function changed(document: object, path: string, value: unknown): object {
  const copy: object = structuredClone(document);
  const names = path.split('.');
  const last = names.pop() ?? '';
  const place = names.reduce<object>((at, name) => Reflect.get(at, name) as object, copy);
  if (value === undefined) Reflect.deleteProperty(place, last);
  else Reflect.set(place, last, value);
  return copy;
}
