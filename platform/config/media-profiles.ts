import { parse } from 'yaml';
import { explain, faultOfToString, faultsOf } from '#domain/jobs/faults.ts';
import { type MediaProfiles, mediaProfilesSchema } from '#domain/media/profiles.ts';
import type { TextValue } from './values.ts';

function read(text: string): { readonly profiles?: MediaProfiles; readonly faults: string[] } {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    return { faults: [`expected YAML: ${(error as Error).message.split('\n')[0]}`] };
  }
  const unusable = faultOfToString(document);
  if (unusable !== null) return { faults: [`${unusable.pointer}: ${unusable.detail}`] };
  const { data, error } = mediaProfilesSchema.safeParse(document, { error: explain });
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
