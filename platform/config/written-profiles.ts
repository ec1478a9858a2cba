import { type Document, isNode, isScalar, LineCounter, parseAllDocuments, stringify, visit } from 'yaml';
import { z } from 'zod';
import { explain, faultOfToString, faultsOf } from '#domain/jobs/faults.ts';
import { mediaProfileResource, readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';

/** A fault of profiles as they are written. */
export interface ProfileFault {
  /** The MediaProfile; null in a value of `MEDIA_PROFILES`. */
  readonly profile: string | null;
  /** A JSON Pointer, or a field as kubectl names it; empty for a fault of the whole text. */
  readonly field: string;
  readonly detail: string;
  /** From 1; null where it is not known. */
  readonly line: number | null;
}

/** The profiles of a text, or every fault of it. */
export interface WrittenProfiles {
  readonly profiles: readonly NamedProfile[];
  readonly faults: readonly ProfileFault[];
}

const objectSchema = z.looseObject({
  kind: z.literal(mediaProfileResource.kind),
  metadata: z.looseObject({ name: z.string().default('') }).default({ name: '' }),
  spec: z.record(z.string(), z.unknown()).default({}),
});

export const ofText = (detail: string, line: number | null = null): ProfileFault => ({
  profile: null,
  field: '',
  detail,
  line,
});

/** The parser's own search for repeated keys, and its excerpts of errors, take time by the square of the length. */
const parsing = { logLevel: 'error', prettyErrors: false, uniqueKeys: false } as const;
/** The most repeated fields that are named. */
const repeatedMax = 100;

function repeatedKeys(document: Document): { readonly key: string; readonly at: number }[] {
  const found: { key: string; at: number }[] = [];
  visit(document, {
    Map(_, { items }) {
      const known = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (known.has(name)) found.push({ key: name.slice(0, 100), at: key.range?.[0] ?? 0 });
        known.add(name);
      }
      return found.length > repeatedMax ? visit.BREAK : undefined;
    },
  });
  return found.slice(0, repeatedMax);
}

/** Reads YAML: the value of `MEDIA_PROFILES`, or MediaProfiles as kubectl applies them. */
export function readWrittenProfiles(text: string): WrittenProfiles {
  const lines = new LineCounter();
  let documents: readonly Document[];
  let values: readonly unknown[];
  try {
    documents = [...parseAllDocuments(text, { lineCounter: lines, ...parsing })] as readonly Document[];
    const fault = documents.map(({ errors }) => errors[0]).find((error) => error !== undefined);
    if (fault !== undefined) return { profiles: [], faults: [yamlFault(fault, lines.linePos(fault.pos[0]).line)] };
    const repeated = documents.flatMap(repeatedKeys);
    if (repeated.length > 0)
      return {
        profiles: [],
        faults: repeated.map(({ key, at }) => ofText(`the field ${key} is there twice`, lines.linePos(at).line)),
      };
    values = documents.map((document) => document.toJS() as unknown);
  } catch (error) {
    // Too many aliases, or too deep.
    return { profiles: [], faults: [yamlFault(error as Error)] };
  }
  const [unusable] = values.flatMap((value) => faultOfToString(value) ?? []);
  if (unusable !== undefined)
    return { profiles: [], faults: [{ ...ofText(unusable.detail), field: unusable.pointer }] };
  const objects = values.map((value) => objectSchema.safeParse(value));
  const isOfObjects = objects.some(({ success }) => success);
  if (!isOfObjects && documents.length > 1)
    return {
      profiles: [],
      faults: [ofText(`expected one document, or documents of the kind ${mediaProfileResource.kind}`)],
    };
  if (!isOfObjects) return readSettings(values[0], (path) => lineOf(documents[0], path, lines));
  const read = objects.map(({ data }, index) =>
    readObject(data, index, (path) => lineOf(documents[index], path, lines)),
  );
  const faults = read.flatMap((each) => each.faults);
  return { profiles: faults.length > 0 ? [] : read.flatMap(({ profiles }) => profiles), faults };
}

/** A profile as the value of `MEDIA_PROFILES`, to be changed. */
export function writeProfile({ name, ...document }: NamedProfile): string {
  return stringify({ profiles: { [name]: document } });
}

function yamlFault(error: Error, line: number | null = null): ProfileFault {
  return ofText(`expected YAML: ${error.message.split('\n')[0]}`, line);
}

type LineAt = (path: readonly string[]) => number | null;

function readSettings(value: unknown, lineAt: LineAt): WrittenProfiles {
  const { data, error } = mediaProfilesSchema.safeParse(value ?? null, { error: explain });
  if (data === undefined)
    return {
      profiles: [],
      faults: faultsOf(error).map(({ pointer, detail }) => ({
        profile: null,
        field: pointer,
        detail,
        line: lineAt(pathOf(pointer)),
      })),
    };
  // Without the built-in ones, which are in it too.
  const { profiles = {} } = value as { readonly profiles?: object };
  return { profiles: Object.keys(profiles).flatMap((name) => data.byName.get(name) ?? []), faults: [] };
}

function readObject(data: z.infer<typeof objectSchema> | undefined, index: number, lineAt: LineAt): WrittenProfiles {
  if (data === undefined) {
    const detail = `document ${index + 1}: expected the kind ${mediaProfileResource.kind}`;
    return { profiles: [], faults: [ofText(detail, lineAt([]))] };
  }
  const { name } = data.metadata;
  const read = readMediaProfile(name, data.spec);
  if ('entry' in read) return { profiles: [read.entry.profile], faults: [] };
  const faults = read.faults.map((fault) => {
    const [field = '', detail = ''] = fault.split(/: (.*)/s);
    return { profile: name, field, detail, line: lineAt(field.split('.')) };
  });
  return { profiles: [], faults };
}

/** The names of an RFC 6901 JSON Pointer. */
function pathOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The line of a field, or of what should have it. */
function lineOf(document: Document | undefined, path: readonly string[], lines: LineCounter): number | null {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const found = depth === 0 ? document?.contents : document?.getIn(path.slice(0, depth), true);
    if (isNode(found) && found.range) return lines.linePos(found.range[0]).line;
  }
  return null;
}
