import { languageTag } from './languages.ts';
import { trackName, uniqueNames } from './track-names.ts';
import { audioTrackIds } from './tracks.ts';

/** The purposes of an audio track; `main` is the default track. */
export const audioRoles = ['main', 'alternate', 'description', 'commentary', 'dub'] as const;
export type AudioRole = (typeof audioRoles)[number];

/** The channels of a track that is made. */
export const outputChannels = [2, 6] as const;
export type OutputChannels = (typeof outputChannels)[number];

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

/** An audio track to make. `name` is unique among the tracks with as many channels. */
export interface AudioPlan {
  readonly id: string;
  readonly streamIndex: number;
  /** The number of channels in the source. */
  readonly channels: number;
  readonly channelLayout: string | null;
  /** Stereo, or 5.1. */
  readonly outputChannels: OutputChannels;
  /** RFC 5646; null where the source states none. */
  readonly language: string | null;
  readonly name: string;
  readonly role: AudioRole;
  readonly isDefault: boolean;
}

/** Layouts with at least the channels of 5.1, by ffmpeg's names: `5.1(side)`, `6.1`, `7.1(wide)`, … */
const surroundLayout = /^[5-9]\.1/;

/**
 * The audio tracks of a source in its order, from at most `tracksMax` of its streams (docs/reference/media.md,
 * "Audio"): each as stereo, and with `hasSurround` also as 5.1 where it has the channels. The default is the one that
 * the source marks, which is always taken, else the first.
 */
export function planAudio(
  sources: readonly AudioSource[],
  { tracksMax, hasSurround }: { readonly tracksMax: number; readonly hasSurround: boolean },
): AudioPlan[] {
  const marked = sources.findIndex(({ isDefault }) => isDefault);
  // The marked one has the last place where it is beyond the others.
  const before = marked < tracksMax ? tracksMax : tracksMax - 1;
  const taken = sources.filter((_, index) => index < before || index === marked);
  const languages = taken.map(({ language }) => languageTag(language));
  const names = uniqueNames(taken.map(({ title }, index) => trackName(title, languages[index] ?? null, 'Audio')));
  const defaultIndex = Math.max(
    0,
    taken.findIndex(({ isDefault }) => isDefault),
  );
  const plans = taken.flatMap((source, index) => {
    const track = {
      streamIndex: source.streamIndex,
      channels: source.channels,
      channelLayout: source.channelLayout,
      language: languages[index] ?? null,
      name: names[index] ?? '',
      role: source.role ?? (index === defaultIndex ? ('main' as const) : ('alternate' as const)),
      isDefault: index === defaultIndex,
    };
    const isSurround = hasSurround && surroundLayout.test(source.channelLayout ?? '');
    return outputChannels.slice(0, isSurround ? 2 : 1).map((channels) => ({ ...track, outputChannels: channels }));
  });
  const ids = audioTrackIds(
    plans.map(({ language, outputChannels: channels }) => ({ language: language ?? 'und', codec: 'aac', channels })),
  );
  return plans.map((plan, index) => ({ id: ids[index] ?? '', ...plan }));
}
