import { readFile } from 'node:fs/promises';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { mediaProfileResource, readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import { explainProfiles } from '#platform/config/media-profiles.ts';
import type { Command } from '../command.ts';
import { exitCode, UsageError } from '../exit-codes.ts';

const objectSchema = z.looseObject({
  kind: z.literal(mediaProfileResource.kind),
  metadata: z.looseObject({ name: z.string().default('') }).default({ name: '' }),
  spec: z.record(z.string(), z.unknown()).default({}),
});

/** Every fault of the profiles in a text: the value of `MEDIA_PROFILES`, or MediaProfiles as kubectl applies them. */
function profileFaults(text: string): readonly string[] {
  let documents: readonly unknown[];
  try {
    documents = parseAllDocuments(text).map((document) => {
      if (document.errors[0] !== undefined) throw document.errors[0];
      return document.toJS() as unknown;
    });
  } catch (error) {
    return [`expected YAML: ${(error as Error).message.split('\n')[0]}`];
  }
  const objects = documents.map((document) => objectSchema.safeParse(document));
  if (!objects.some(({ success }) => success)) return explainProfiles(text);
  return objects.flatMap(({ data }, index) => {
    if (data === undefined) return [`document ${index + 1}: expected the kind ${mediaProfileResource.kind}`];
    const read = readMediaProfile(data.metadata.name, data.spec);
    return 'faults' in read ? read.faults.map((fault) => `${data.metadata.name}: ${fault}`) : [];
  });
}

export const profilesCheck: Command = {
  name: 'profiles check',
  args: 'FILE',
  argsMin: 1,
  argsMax: 1,
  doc: 'Checks encoding profiles: the YAML of MEDIA_PROFILES, or MediaProfiles as kubectl applies them.',
  example: 'profiles check profiles.yaml',
  options: {},
  run: async ({ args: [file = ''], output }) => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${file}: expected a file that can be read (${error.code})`);
    });
    const faults = profileFaults(text);
    output.result({ valid: faults.length === 0, faults }, faults.length === 0 ? 'valid' : faults.join('\n'));
    return faults.length === 0 ? 0 : exitCode('invalid');
  },
};
