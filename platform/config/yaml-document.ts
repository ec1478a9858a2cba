import { parse } from 'yaml';
import { faultOfToString } from '#domain/jobs/faults.ts';

/** Reads a setting that is YAML: its document, or why it cannot be read. */
export function readYaml(text: string): { readonly document: unknown } | { readonly faults: string[] } {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    return { faults: [`expected YAML: ${(error as Error).message.split('\n')[0]}`] };
  }
  const fault = faultOfToString(document);
  return fault === null ? { document } : { faults: [`${fault.pointer}: ${fault.detail}`] };
}
