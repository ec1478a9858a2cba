import { z } from 'zod';

// What callers say of a media for people and for themselves: its title and its metadata.

export const titleCharactersMax = 256;
const metadataStringsMax = 20;
/** The most bytes of all names and values together, in UTF-8. */
const metadataBytesMax = 4096;

const encoder = new TextEncoder();

// eslint-disable-next-line no-control-regex -- control characters are what is refused
const isOneLine = (text: string) => text.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text);

/** A title; its length is counted in code points, as JSON Schema does. */
export const titleSchema = z
  .string()
  .refine(
    (title) => /\S/.test(title) && new RegExp(`^.{1,${titleCharactersMax}}$`, 'su').test(title),
    `must be 1–${titleCharactersMax} characters, not all of them spaces`,
  )
  .refine(isOneLine, 'must be a line of well-formed Unicode, without control characters')
  .meta({ maxLength: titleCharactersMax, examples: ['Holiday in Lisbon'] });

/** As many characters of a text, counted as a title's are. */
export function firstCharacters(text: string, count: number): string {
  return new RegExp(`^.{0,${count}}`, 'su').exec(text)?.[0] ?? '';
}

const nameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'must be 1–64 of A–Z, a–z, 0–9, ".", "_" and "-", and begin with a letter or digit',
  );
const lineSchema = z.string().refine(isOneLine, 'must be a line of well-formed Unicode, without control characters');

/** Strings by name, which the service stores and gives back. */
export const metadataSchema = z
  .record(nameSchema, lineSchema)
  .refine(
    (metadata) => Object.keys(metadata).length <= metadataStringsMax,
    `must have at most ${metadataStringsMax} strings`,
  )
  .refine(
    (metadata) => encoder.encode(Object.entries(metadata).flat().join('')).length <= metadataBytesMax,
    `must be at most ${metadataBytesMax} bytes of UTF-8, names and values together`,
  )
  .meta({ maxProperties: metadataStringsMax, examples: [{ customer: '42' }] });

export type Metadata = Readonly<Record<string, string>>;

/** Pairs that a list is filtered by. */
const pairsMax = 3;

/** `NAME=TEXT`, once or several times: what the metadata of a media has to contain. */
export const metadataPairsSchema = z
  .preprocess(
    (given) => (typeof given === 'string' ? [given] : given),
    z
      .array(
        z
          .string()
          .max(metadataBytesMax)
          .refine((pair) => pair.includes('='), 'must be NAME=TEXT')
          .refine((pair) => nameSchema.safeParse(pairOf(pair)[0]).success, 'must begin with the name of a string')
          .pipe(lineSchema),
      )
      .min(1)
      .max(pairsMax)
      .refine(
        (pairs) => new Set(pairs.map((pair) => pairOf(pair)[0])).size === pairs.length,
        'must have each name once',
      ),
  )
  .meta({ examples: [['customer=42']] });

function pairOf(pair: string): readonly [string, string] {
  const end = pair.indexOf('=');
  return [pair.slice(0, end), pair.slice(end + 1)];
}

/** The strings that pairs `NAME=TEXT` say. */
export function metadataOfPairs(pairs: readonly string[]): Metadata {
  return Object.fromEntries(pairs.map(pairOf));
}

/** The title and the metadata of a media or a job; null: none. */
export interface Description {
  readonly title: string | null;
  readonly metadata: Metadata | null;
}

/** A description that is given; what is undefined was not said, and null removes what there is. */
export type DescriptionChange = { readonly [Field in keyof Description]?: Description[Field] | undefined };

/** Whether a change says anything. */
export function saysSomething({ title, metadata }: DescriptionChange): boolean {
  return title !== undefined || metadata !== undefined;
}

/** The words of a title, or of what is searched for: runs of letters and digits without case and accents, each once. */
export function searchWords(text: string): string[] {
  const plain = text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '');
  return [...new Set(plain.match(/[\p{L}\p{N}]+/gu) ?? [])];
}

/** A letter or two of the Latin alphabet begin too many words, and match whole words alone. */
const isWholeWord = (word: string) => /^[a-z0-9]{1,2}$/.test(word);

/** The tsquery of a search: each word has to begin a word of the title. Null where there is no word. */
export function searchQuery(text: string): string | null {
  const words = searchWords(text).map((word) => (isWholeWord(word) ? `'${word}'` : `'${word}':*`));
  return words.length === 0 ? null : words.join(' & ');
}
