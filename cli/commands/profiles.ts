import { readFile } from 'node:fs/promises';
import type { Command } from '../command.ts';
import { exitCode, UsageError } from '../exit-codes.ts';

/** Every fault of the profiles in a text, a line each. */
async function profileFaults(text: string): Promise<readonly string[]> {
  const { readWrittenProfiles } = await import('#platform/config/written-profiles.ts');
  return readWrittenProfiles(text).faults.map(({ profile, field, detail }) =>
    [profile, field, detail].filter(Boolean).join(': '),
  );
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
    const faults = await profileFaults(text);
    output.result({ valid: faults.length === 0, faults }, faults.length === 0 ? 'valid' : faults.join('\n'));
    return faults.length === 0 ? 0 : exitCode('invalid');
  },
};
