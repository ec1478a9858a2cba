import { languageTag } from './languages.ts';
import { trackName, uniqueNames } from './track-names.ts';

/** Text subtitles of a source. */
export interface SubtitleSource {
  /** The index of their stream in the source; for captions inside of frames, of the video. */
  readonly streamIndex: number;
  /** Whether they are CEA-608 captions (ANSI/CTA-608-E), of which the first channel is read. */
  readonly isCea608: boolean;
  /** Whether lengths stand before its text (3GPP timed text), which another encoding would make wrong. */
  readonly hasLengths?: boolean;
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
  readonly isCea608: boolean;
  /** RFC 5646; null where the source states none. */
  readonly language: string | null;
  readonly name: string;
  readonly isForced: boolean;
  readonly isHearingImpaired: boolean;
}

/** The name in menus of captions without a title and a language: that of their channel. */
const captionsName = 'CC1';

/** More are left out, with a warning. */
export const subtitleTracksMax = 32;

/** The subtitle tracks of a source in its order (docs/reference/media.md, "Subtitles"). */
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
  const names = taken.map(({ title, isCea608 }, index) =>
    trackName(title, languages[index] ?? null, isCea608 ? captionsName : 'Subtitles'),
  );
  const unique = uniqueNames(names);
  return taken.map(({ streamIndex, isCea608, isForced, isHearingImpaired }, index) => ({
    id: ids[index] ?? '',
    streamIndex,
    isCea608,
    language: languages[index] ?? null,
    name: unique[index] ?? '',
    isForced,
    isHearingImpaired,
  }));
}
