import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import type { Fault } from '#domain/errors.ts';
import { type DescriptionChange, metadataSchema, titleSchema } from '#domain/media/description.ts';

// `X-Title` and `X-Metadata` of a submission. A header has bytes of ASCII, so both are percent-encoded UTF-8: the title
// as by `encodeURIComponent`, the metadata as the query of an address, `customer=42&place=S%C3%A3o+Paulo`.

interface Read {
  readonly description: DescriptionChange;
  readonly faults: readonly Fault[];
}

/** Reads title and metadata of the media and the job from the headers, with each fault of them. */
export function readDescription({ 'x-title': title, 'x-metadata': metadata }: IncomingHttpHeaders): Read {
  const faults: Fault[] = [];
  const read = <Value>(header: string, text: string, schema: z.ZodType<Value>, decode: (text: string) => unknown) => {
    const value = decoded(text, decode);
    if (value === undefined) return void faults.push(fault(header, encodingFault(text)));
    const parsed = schema.safeParse(value);
    for (const { path, message } of parsed.error?.issues ?? [])
      faults.push(fault(header, path.length === 0 ? message : `${JSON.stringify(path[0])} ${message}`));
    return parsed.data;
  };
  return {
    description: {
      ...(title === undefined ? {} : { title: read('X-Title', String(title), titleSchema, decodeURIComponent) }),
      ...(metadata === undefined
        ? {}
        : { metadata: read('X-Metadata', String(metadata), metadataSchema, decodePairs) }),
    },
    faults,
  };
}

/** Undefined for what is not percent-encoded UTF-8. */
function decoded(text: string, decode: (text: string) => unknown): unknown {
  if (!/^[\x20-\x7e]*$/.test(text)) return undefined;
  try {
    return decode(text);
  } catch {
    return undefined;
  }
}

/** The last of several values of a name counts, as in JSON. @throws URIError */
function decodePairs(text: string): Record<string, string> {
  const parts = text.split('&').filter((part) => part !== '');
  return Object.fromEntries(
    parts.map((part) => {
      const [name = '', ...rest] = part.replaceAll('+', ' ').split('=');
      return [decodeURIComponent(name), decodeURIComponent(rest.join('='))];
    }),
  );
}

function encodingFault(text: string): string {
  return text.includes('%') && /^[\x20-\x7e]*$/.test(text)
    ? 'must be percent-encoded UTF-8: each "%" begins the two hex digits of a byte, and a percent sign is "%25"'
    : 'must be percent-encoded UTF-8, such as "S%C3%A3o Paulo" for "São Paulo"';
}

function fault(header: string, detail: string): Fault {
  return { pointer: `/${header}`, code: 'invalid_header', detail };
}
