import type { Bandwidth } from './bandwidth.ts';
import type { FrameSize } from './frame-size.ts';
import type { VideoRange } from './ladder.ts';
import { type VideoCodec, videoCodecs } from './profiles.ts';
import type { Rational } from './rational.ts';
import { storyboardLine, type StoryboardLine } from './storyboard.ts';
import { chaptersPath, iframePlaylistPath, trackPaths } from './revision-layout.ts';

interface AudioRendition {
  readonly id: string;
  readonly name: string;
  readonly language: string | null;
  readonly isDefault: boolean;
  /** Two, or six for 5.1: then a track of the same name has two. */
  readonly channels: number;
  readonly bandwidth: Bandwidth;
  /** RFC 6381. */
  readonly codec: string;
}

interface TextRendition {
  readonly id: string;
  readonly name: string;
  readonly language: string | null;
  readonly isForced: boolean;
  readonly isHearingImpaired: boolean;
}

interface VideoRendition extends FrameSize {
  readonly id: string;
  readonly family: VideoCodec;
  readonly range: VideoRange;
  readonly bandwidth: Bandwidth;
  /** The bandwidth of the I-frame playlist. */
  readonly iframeBandwidth: Bandwidth;
  /** RFC 6381. */
  readonly codec: string;
}

/** The tracks of a master playlist; `video` in listing order, the others in source order. */
export interface MasterContents {
  readonly video: readonly VideoRendition[];
  readonly audio: readonly AudioRendition[];
  readonly text: readonly TextRendition[];
  readonly rate: Rational;
  readonly storyboard: StoryboardLine | null;
  /** `{BASE_URL}/api/key/{hash}`; null for a clear stream. */
  readonly keyEndpoint: string | null;
  readonly hasChapters: boolean;
}

const stereoGroup = 'audio';
const surroundGroup = 'surround';
const textGroup = 'text';
/** Apple's HLS Authoring Specification, "Accessibility". */
const hearingImpaired = 'public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound';

/**
 * The master playlist of a revision (RFC 8216, section 4.3.4). It replaces the packager's, which has another order and
 * estimated bandwidths. A variant's bandwidth is its video's plus the largest of its audio group. With 5.1 there are
 * two audio groups and each variant is listed for both, stereo first, for players without 5.1.
 *
 * The last variant is stereo audio alone, since Apple asks for one of at most 192 kb/s. Without video each group has
 * such a variant.
 */
export function revisionMaster(contents: MasterContents): string {
  const { video, audio, text, storyboard } = contents;
  const groups = audioGroupsOf(audio);
  const audioVariants = video.length > 0 ? groups.slice(0, 1).filter(({ tracks }) => tracks.length > 0) : groups;
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:6',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    ...sessionLines(contents),
    '',
    ...groups.flatMap(({ id, tracks }) => tracks.map((track) => audioLine(track, id))),
    ...text.map((track) => textLine(track)),
    ...(audio.length + text.length > 0 ? [''] : []),
    ...groups.flatMap((group) => video.flatMap((track) => videoVariant(track, group, contents))),
    ...audioVariants.flatMap((group) => audioVariant(group, contents)),
    '',
    ...video.map((track) => iframeLine(track, video)),
    ...(storyboard === null ? [] : [storyboardLine(storyboard)]),
    '',
  ].join('\n');
}

/** The name of this service's own data in a master playlist (RFC 8216, section 4.3.4.4). */
const chaptersDataId = 'io.reelwright.chapters';

/** The lines that a player may load before it chooses a variant: the key and the chapters. */
function sessionLines({ keyEndpoint, hasChapters }: MasterContents): string[] {
  const key = `#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="${keyEndpoint}",KEYFORMAT="identity"`;
  const chapters = `#EXT-X-SESSION-DATA:DATA-ID="${chaptersDataId}",URI="${chaptersPath}",FORMAT=RAW`;
  return [...(keyEndpoint === null ? [] : [key]), ...(hasChapters ? [chapters] : [])];
}

function videoVariant(track: VideoRendition, group: AudioGroup, { video, text, rate }: MasterContents): string[] {
  const attributes = [
    `BANDWIDTH=${track.bandwidth.peak + group.bandwidth.peak}`,
    `AVERAGE-BANDWIDTH=${track.bandwidth.average + group.bandwidth.average}`,
    `CODECS="${[track.codec, ...group.codecs].join(',')}"`,
    `RESOLUTION=${track.width}x${track.height}`,
    `FRAME-RATE=${(rate.num / rate.den).toFixed(3)}`,
    `VIDEO-RANGE=${track.range.toUpperCase()}`,
    ...scores(track, video),
    ...(group.tracks.length > 0 ? [`AUDIO="${group.id}"`] : []),
    ...(text.length > 0 ? [`SUBTITLES="${textGroup}"`] : []),
    'CLOSED-CAPTIONS=NONE',
  ];
  return [`#EXT-X-STREAM-INF:${attributes.join(',')}`, trackPaths('video', track.id).playlist];
}

/** A variant without video: its playlist is the one of the group's default track. */
function audioVariant({ id, tracks: [listed], bandwidth, codecs }: AudioGroup, contents: MasterContents): string[] {
  if (listed === undefined) throw new Error('a master without video and audio');
  const { video, text } = contents;
  const attributes = [
    `BANDWIDTH=${bandwidth.peak}`,
    `AVERAGE-BANDWIDTH=${bandwidth.average}`,
    `CODECS="${codecs.join(',')}"`,
    // Every variant has a score, or none; this one is below the smallest rung's.
    ...(hasScores(video) ? ['SCORE=0.5'] : []),
    `AUDIO="${id}"`,
    ...(text.length > 0 ? [`SUBTITLES="${textGroup}"`] : []),
    // On all variants or on none.
    ...(video.length > 0 ? ['CLOSED-CAPTIONS=NONE'] : []),
  ];
  return [`#EXT-X-STREAM-INF:${attributes.join(',')}`, trackPaths('audio', listed.id).playlist];
}

function iframeLine(track: VideoRendition, all: readonly VideoRendition[]): string {
  const { id, iframeBandwidth, codec, width, height, range } = track;
  const attributes = [
    `BANDWIDTH=${iframeBandwidth.peak}`,
    `AVERAGE-BANDWIDTH=${iframeBandwidth.average}`,
    `CODECS="${codec}"`,
    `RESOLUTION=${width}x${height}`,
    `VIDEO-RANGE=${range.toUpperCase()}`,
    ...scores(track, all),
    `URI="${iframePlaylistPath(id)}"`,
  ];
  return `#EXT-X-I-FRAME-STREAM-INF:${attributes.join(',')}`;
}

/**
 * Where there are several codecs, players cannot compare variants by their bandwidth: `SCORE` (RFC 8216bis) ranks them,
 * by size, then HDR before SDR, then the codec that needs fewer bits.
 */
function scores(track: VideoRendition, all: readonly VideoRendition[]): string[] {
  if (!hasScores(all)) return [];
  const ranked = all.toSorted(
    (a, b) =>
      a.width * a.height - b.width * b.height ||
      Number(a.range !== 'sdr') - Number(b.range !== 'sdr') ||
      videoCodecs.indexOf(a.family) - videoCodecs.indexOf(b.family),
  );
  return [`SCORE=${ranked.indexOf(track) + 1}`];
}

function hasScores(all: readonly VideoRendition[]): boolean {
  return new Set(all.map(({ family }) => family)).size > 1;
}

interface AudioGroup {
  readonly id: string;
  readonly tracks: readonly AudioRendition[];
  /** The bandwidth of the largest track. */
  readonly bandwidth: Bandwidth;
  readonly codecs: readonly string[];
}

/** One group, or two with the same renditions: in the 5.1 group a rendition without 5.1 has its stereo track. */
function audioGroupsOf(audio: readonly AudioRendition[]): AudioGroup[] {
  // Players that ignore DEFAULT take the first of a group; the others keep their order.
  const listed = audio.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  const stereo = listed.filter(({ channels }) => channels <= 2);
  const surround = stereo.map(
    ({ name, ...track }) => listed.find((other) => other.channels > 2 && other.name === name) ?? { name, ...track },
  );
  const group = (id: string, tracks: readonly AudioRendition[]) => ({
    id,
    tracks,
    bandwidth: {
      peak: Math.max(0, ...tracks.map(({ bandwidth }) => bandwidth.peak)),
      average: Math.max(0, ...tracks.map(({ bandwidth }) => bandwidth.average)),
    },
    codecs: [...new Set(tracks.map(({ codec }) => codec))],
  });
  return [group(stereoGroup, stereo), ...(stereo.length < audio.length ? [group(surroundGroup, surround)] : [])];
}

function audioLine({ id, name, language, isDefault, channels }: AudioRendition, group: string): string {
  const attributes = [
    'TYPE=AUDIO',
    `GROUP-ID="${group}"`,
    `NAME="${name}"`,
    ...(language === null ? [] : [`LANGUAGE="${language}"`]),
    `DEFAULT=${isDefault ? 'YES' : 'NO'}`,
    'AUTOSELECT=YES',
    `CHANNELS="${channels}"`,
    `URI="${trackPaths('audio', id).playlist}"`,
  ];
  return `#EXT-X-MEDIA:${attributes.join(',')}`;
}

/**
 * None is on unless the viewer or the system asks for it; players show the forced one of the language that is heard.
 */
function textLine({ id, name, language, isForced, isHearingImpaired }: TextRendition): string {
  const attributes = [
    'TYPE=SUBTITLES',
    `GROUP-ID="${textGroup}"`,
    `NAME="${name}"`,
    ...(language === null ? [] : [`LANGUAGE="${language}"`]),
    'DEFAULT=NO',
    'AUTOSELECT=YES',
    `FORCED=${isForced ? 'YES' : 'NO'}`,
    ...(isHearingImpaired ? [`CHARACTERISTICS="${hearingImpaired}"`] : []),
    `URI="${trackPaths('text', id).playlist}"`,
  ];
  return `#EXT-X-MEDIA:${attributes.join(',')}`;
}

/**
 * The codec strings (RFC 6381) in the packager's master playlist: of video by the URI of the media playlist, of audio
 * as the variants state it.
 */
export function codecsOfMaster(packagerMaster: string): { video: Map<string, string>; audio: string | null } {
  const video = new Map<string, string>();
  let audio: string | null = null;
  const lines = packagerMaster.split('\n').map((line) => line.trim());
  for (const [index, line] of lines.entries()) {
    if (!line.startsWith('#EXT-X-STREAM-INF:')) continue;
    const codecs = (/CODECS="([^"]*)"/.exec(line)?.[1] ?? '').split(',');
    const ofVideo = codecs.find((codec) => /^(?:avc|hvc|hev|av01|vp)/.test(codec));
    if (ofVideo !== undefined) video.set(lines[index + 1] ?? '', ofVideo);
    audio ??= codecs.find((codec) => codec.startsWith('mp4a')) ?? null;
  }
  return { video, audio };
}
