import { readHost } from '#domain/imports/hosts.ts';
import { cidrsValue, integerValue, listOf, sizeValue, type TextValue } from './values.ts';
import { declareFor, type Environment, readVariables, type Values } from './variable.ts';

/** From where files may be imported, and how many at once. */
export interface ImportSettings {
  /** Entries of `IMPORT_HOSTS`; at least one. */
  readonly hosts: readonly string[];
  readonly allowedCidrs: readonly string[];
  readonly bytesMax: number;
  readonly concurrency: number;
}

const hostsValue = listOf('hosts separated by commas, such as media.example.com,*.cdn.example.com,10.0.0.5:8080', {
  expected: 'a host',
  read: readHost,
});

const gibibyte = 1024 ** 3;
/** Ten thousand parts, which is as many as S3 takes, of 64 MiB: a worker has one of each import in its memory. */
const importBytesMax = 625 * gibibyte;
const importSizeValue: TextValue<number> = {
  expected: `${sizeValue.expected}; at most ${importBytesMax / gibibyte}GiB`,
  read: (text) => {
    const bytes = sizeValue.read(text);
    return bytes !== null && bytes > 0 && bytes <= importBytesMax ? bytes : null;
  },
};

const declare = declareFor('api', 'worker');
const declareForWorker = declareFor('worker');
const none = () => [] as const;

export const importVariables = {
  hosts: declare('IMPORT_HOSTS', hostsValue, {
    defaultDoc: 'none; imports are refused',
    absent: none,
    doc: 'Hosts of files: `media.example.com`, `*.cdn.example.com` for every name below it, `10.0.0.5:8080` for one port. Needs uploads.',
  }),
  allowedCidrs: declare('IMPORT_ALLOWED_CIDRS', cidrsValue, {
    defaultDoc: 'none',
    absent: none,
    doc: 'Private networks (CIDR) that those hosts may be in.',
  }),
  bytesMax: declare('IMPORT_MAX_BYTES', importSizeValue, {
    default: '20GiB',
    doc: 'Largest imported file; at most 625 GiB.',
  }),
  concurrency: declareForWorker('IMPORT_CONCURRENCY', integerValue(1, 100), {
    default: '2',
    doc: 'Imports of one worker at once; each takes the memory of one part (8 MiB for a file of up to 78 GiB).',
  }),
};

/**
 * The settings of imports, null where none are accepted, or every fault at once.
 *
 * @param hasUploads whether there is a bucket with the right to write, to which imports go
 */
export function parseImportSettings(
  env: Environment,
  hasUploads: boolean,
): { readonly imports: ImportSettings | null } | { readonly faults: readonly string[] } {
  const read = readVariables(importVariables, env);
  if (read.faults.length > 0) return { faults: read.faults };
  const imports = read.values as Values<typeof importVariables>;
  if (imports.hosts.length === 0) return { imports: null };
  if (!hasUploads) return { faults: ['IMPORT_HOSTS: expected together with UPLOAD_S3_ACCESS_KEY_ID or UPLOAD_BUCKET'] };
  return { imports };
}
