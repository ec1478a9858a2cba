import { explain, faultsOf } from '#domain/jobs/faults.ts';
import { type MediaProfiles, mediaProfilesSchema } from '#domain/media/profiles.ts';
import type { TextValue } from './values.ts';
import { readYaml } from './yaml-document.ts';

function read(text: string): { readonly profiles?: MediaProfiles; readonly faults: string[] } {
  const written = readYaml(text);
  if ('faults' in written) return written;
  if (typeof written.document === 'string')
    return { faults: ['holds a text and no profiles; to name a file, set MEDIA_PROFILES_FILE'] };
  const { data, error } = mediaProfilesSchema.safeParse(written.document, { error: explain });
  if (data !== undefined) return { profiles: data, faults: [] };
  return { faults: faultsOf(error).map(({ pointer, detail }) => `${pointer}: ${detail}`) };
}

/** Every fault of a value of `MEDIA_PROFILES` by its JSON Pointer. */
function explainProfiles(text: string): string[] {
  return read(text).faults;
}

/** `MEDIA_PROFILES`: YAML, with every fault of it by its JSON Pointer. */
export const mediaProfilesValue: TextValue<MediaProfiles> = {
  expected: 'YAML with profiles and rules',
  read: (text) => read(text).profiles ?? null,
  explain: explainProfiles,
};
