import { languageName, languageTag } from './languages.ts';
import { audioTrackIds } from './tracks.ts';

/** What an audio track is for; `main` is the default track. */
export const audioRoles = ['main', 'alternate', 'description', 'commentary', 'dub'] as const;
export type AudioRole = (typeof audioRoles)[number];

/** An audio stream of a source, as far as its track is made from it. */
export interface AudioSource {
  /** The stream's index in the source. */
  readonly streamIndex: number;
  readonly channels: number;
  /** Null when the source does not say which channel is which. */
  readonly channelLayout: string | null;
  readonly language: string | undefined;
  readonly title: string | undefined;
  readonly isDefault: boolean;
  readonly role: Exclude<AudioRole, 'main' | 'alternate'> | null;
}

/** An audio track to make. `name` is unique among the tracks. */
export interface AudioPlan {
  readonly id: string;
  readonly streamIndex: number;
  readonly channels: number;
  readonly channelLayout: string | null;
  /** RFC 5646; null where the source states none. */
  readonly language: string | null;
  readonly name: string;
  readonly role: AudioRole;
  readonly isDefault: boolean;
}

/** Quoted strings of a playlist cannot contain these, and have no escapes (RFC 8216, section 4.2). */
const unquotable = /[\p{Cc}"\u2028\u2029]+/gu;
/** As much of a name as fits into a player's menu. */
const nameCharactersMax = 60;

/**
 * The audio tracks of a source in its order, at most `tracksMax` (docs/media.md, "Audio"). The default is the one that
 * the source marks, else the first.
 */
export function planAudio(sources: readonly AudioSource[], tracksMax: number): AudioPlan[] {
  const taken = sources.slice(0, tracksMax);
  const languages = taken.map(({ language }) => languageTag(language));
  const ids = audioTrackIds(languages.map((language) => ({ language: language ?? 'und', codec: 'aac', channels: 2 })));
  const names = uniqueNames(taken.map(({ title }, index) => nameOf(title, languages[index] ?? null)));
  const defaultIndex = Math.max(
    0,
    taken.findIndex(({ isDefault }) => isDefault),
  );
  return taken.map((source, index) => ({
    id: ids[index] ?? '',
    streamIndex: source.streamIndex,
    channels: source.channels,
    channelLayout: source.channelLayout,
    language: languages[index] ?? null,
    name: names[index] ?? '',
    role: source.role ?? (index === defaultIndex ? 'main' : 'alternate'),
    isDefault: index === defaultIndex,
  }));
}

/** Whether `name` may be the name of an audio track: a clean title, and perhaps a number that makes it unique. */
export function isAudioName(name: string): boolean {
  return name !== '' && name.length <= nameCharactersMax + 5 && name.replace(unquotable, '') === name;
}

function nameOf(title: string | undefined, language: string | null): string {
  const clean = (title ?? '').replace(unquotable, ' ').trim().slice(0, nameCharactersMax);
  if (clean !== '') return clean;
  return language === null ? 'Audio' : languageName(language);
}

function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let number = 2; taken.has(unique); number += 1) unique = `${name} ${number}`;
    taken.add(unique);
    return unique;
  });
}
