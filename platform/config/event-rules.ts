import { type EventRule, readEventRules } from '#domain/bucket-events/event-rules.ts';
import type { TextValue } from './values.ts';
import { readYaml } from './yaml-document.ts';

function read(text: string): { readonly rules?: readonly EventRule[]; readonly faults: string[] } {
  const written = readYaml(text);
  if ('faults' in written) return written;
  const found = readEventRules(written.document);
  if ('rules' in found) return { rules: found.rules, faults: [] };
  return { faults: found.faults.map(({ pointer, detail }) => `${pointer}: ${detail}`) };
}

/** `EVENT_RULES`: YAML, with every fault of it by its JSON Pointer. */
export const eventRulesValue: TextValue<readonly EventRule[]> = {
  expected: 'YAML with a list of rules',
  read: (text) => read(text).rules ?? null,
  explain: (text) => read(text).faults,
};
