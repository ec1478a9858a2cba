import { languageTag } from './languages.ts';
import { trackName, uniqueNames } from './track-names.ts';

/** A text subtitle stream of a source. */
export interface SubtitleSource {
  /** The stream's index in the source. */
  readonly streamIndex: number;
  readonly language: string | undefined;
  readonly title: string | undefined;
  /** Shown to everyone: signs and foreign speech. */
  readonly isForced: boolean;
  /** For people who do not hear: sounds are described. */
  readonly isHearingImpaired: boolean;
}

/** A WebVTT track to make. `name` is unique among the tracks. */
export interface SubtitlePlan {
  readonly id: string;
  readonly streamIndex: number;
  /** RFC 5646; null where the source states none. */
  readonly language: string | null;
  readonly name: string;
  readonly isForced: boolean;
  readonly isHearingImpaired: boolean;
}

/** More are left out, with a warning. */
export const subtitleTracksMax = 32;

/** The subtitle tracks of a source in its order (docs/media.md, "Subtitles"). */
export function planSubtitles(sources: readonly SubtitleSource[]): SubtitlePlan[] {
  const taken = sources.slice(0, subtitleTracksMax);
  const languages = taken.map(({ language }) => languageTag(language));
  const counts = new Map<string, number>();
  const ids = languages.map((language) => {
    const id = `text_${language ?? 'und'}`;
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count === 1 ? id : `${id}_${count}`;
  });
  const names = uniqueNames(taken.map(({ title }, index) => trackName(title, languages[index] ?? null, 'Subtitles')));
  return taken.map(({ streamIndex, isForced, isHearingImpaired }, index) => ({
    id: ids[index] ?? '',
    streamIndex,
    language: languages[index] ?? null,
    name: names[index] ?? '',
    isForced,
    isHearingImpaired,
  }));
}
