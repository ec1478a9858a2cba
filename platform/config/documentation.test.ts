import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { defaultTextOf, notesOf } from './settings.ts';
import { storageSettingsSchema } from './storage-settings.ts';
import { kubernetesSettings } from './kubernetes-settings.ts';
import { secretSettings } from './secret-settings.ts';
import { serverSettings } from './server-settings.ts';
import { serviceSettings } from './service-settings.ts';
import { workerSettings } from './worker-settings.ts';

// docs/configuration.md says what the schemas say: every setting, its default and its meaning, and nothing else.

function rowsOf(schema: z.ZodObject, prefix = ''): string[] {
  return Object.entries(schema.shape).map(([key, field]) => {
    const { meaning, isSecret, defaultNote } = notesOf(field);
    const fixed = defaultTextOf(field);
    const shown = fixed === null ? (defaultNote ?? '–') : `\`${fixed}\``;
    return `| \`${prefix}${key}\`${isSecret === true ? ' (secret)' : ''} | ${shown} | ${meaning} |`;
  });
}

const expected = {
  'The process': rowsOf(serviceSettings),
  'The server': rowsOf(serverSettings),
  Secrets: rowsOf(secretSettings),
  'Jobs and workers': rowsOf(workerSettings),
  Kubernetes: rowsOf(kubernetesSettings),
  'The source store': rowsOf(storageSettingsSchema, 'SOURCE_'),
  'The media store': rowsOf(storageSettingsSchema, 'MEDIA_'),
};

/** The rows of each section's table, without its two lines of head. */
function documentedRows(): Record<string, string[]> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
  const sections = text.split(/^## /m).slice(1);
  const rows = sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    const table = lines.filter((line) => line.startsWith('|')).map((line) => line.replaceAll(/ +/g, ' '));
    return [title, table.slice(2)] as const;
  });
  return Object.fromEntries(rows.filter(([, table]) => table.length > 0));
}

describe('docs/configuration.md', () => {
  it('has a row for every setting, with its default and its meaning', () => {
    expect(documentedRows()).toEqual(expected);
  });
});
