import { parse } from 'yaml';
import { type EventRule, readEventRules } from '#domain/bucket-events/event-rules.ts';
import { faultOfToString } from '#domain/jobs/faults.ts';
import type { TextValue } from './values.ts';

function read(text: string): { readonly rules?: readonly EventRule[]; readonly faults: string[] } {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    return { faults: [`expected YAML: ${(error as Error).message.split('\n')[0]}`] };
  }
  const unusable = faultOfToString(document);
  if (unusable !== null) return { faults: [`${unusable.pointer}: ${unusable.detail}`] };
  const found = readEventRules(document);
  if ('rules' in found) return { rules: found.rules, faults: [] };
  return { faults: found.faults.map(({ pointer, detail }) => `${pointer}: ${detail}`) };
}

/** `EVENT_RULES`: YAML, with every fault of it by its JSON Pointer. */
export const eventRulesValue: TextValue<readonly EventRule[]> = {
  expected: 'YAML with a list of rules',
  read: (text) => read(text).rules ?? null,
  explain: (text) => read(text).faults,
};
