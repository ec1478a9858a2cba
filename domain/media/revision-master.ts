import type { Bandwidth } from './bandwidth.ts';
import type { FrameSize } from './frame-size.ts';
import type { Rational } from './rational.ts';

interface AudioRendition {
  readonly id: string;
  readonly name: string;
  readonly language: string | null;
  readonly isDefault: boolean;
  readonly channels: number;
  readonly bandwidth: Bandwidth;
  /** RFC 6381. */
  readonly codec: string;
}

interface VideoRendition extends FrameSize {
  readonly id: string;
  readonly bandwidth: Bandwidth;
  /** Of the I-frame playlist. */
  readonly iframeBandwidth: Bandwidth;
  readonly codec: string;
}

/** What a revision's master playlist names; `video` in the order of listing, `audio` in that of the source. */
export interface MasterContents {
  readonly video: readonly VideoRendition[];
  readonly audio: readonly AudioRendition[];
  readonly rate: Rational;
}

const audioGroup = 'audio';

/**
 * The master playlist of a revision (RFC 8216, section 4.3.4): written anew, since the packager orders it in its own
 * way and estimates what is measured here. A variant's bandwidth is its video's and the largest audio's.
 */
export function revisionMaster({ video, audio, rate }: MasterContents): string {
  const audioPeak = Math.max(0, ...audio.map(({ bandwidth }) => bandwidth.peak));
  const audioAverage = Math.max(0, ...audio.map(({ bandwidth }) => bandwidth.average));
  const audioCodecs = [...new Set(audio.map(({ codec }) => codec))];
  // Players that heed no DEFAULT take the first of a group; the others keep their order.
  const listed = audio.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault));
  const frameRate = (rate.num / rate.den).toFixed(3);
  return [
    '#EXTM3U',
    '#EXT-X-VERSION:6',
    '#EXT-X-INDEPENDENT-SEGMENTS',
    '',
    ...listed.map((track) => audioLine(track)),
    ...(audio.length > 0 ? [''] : []),
    ...video.flatMap((track) => [
      `#EXT-X-STREAM-INF:${[
        `BANDWIDTH=${track.bandwidth.peak + audioPeak}`,
        `AVERAGE-BANDWIDTH=${track.bandwidth.average + audioAverage}`,
        `CODECS="${[track.codec, ...audioCodecs].join(',')}"`,
        `RESOLUTION=${track.width}x${track.height}`,
        `FRAME-RATE=${frameRate}`,
        'VIDEO-RANGE=SDR',
        ...(audio.length > 0 ? [`AUDIO="${audioGroup}"`] : []),
        'CLOSED-CAPTIONS=NONE',
      ].join(',')}`,
      `video/${track.id}/playlist.m3u8`,
    ]),
    '',
    ...video.map(
      (track) =>
        `#EXT-X-I-FRAME-STREAM-INF:${[
          `BANDWIDTH=${track.iframeBandwidth.peak}`,
          `AVERAGE-BANDWIDTH=${track.iframeBandwidth.average}`,
          `CODECS="${track.codec}"`,
          `RESOLUTION=${track.width}x${track.height}`,
          'VIDEO-RANGE=SDR',
          `URI="video/${track.id}/iframes.m3u8"`,
        ].join(',')}`,
    ),
    '',
  ].join('\n');
}

function audioLine({ id, name, language, isDefault, channels }: AudioRendition): string {
  const attributes = [
    'TYPE=AUDIO',
    `GROUP-ID="${audioGroup}"`,
    `NAME="${name}"`,
    ...(language === null ? [] : [`LANGUAGE="${language}"`]),
    `DEFAULT=${isDefault ? 'YES' : 'NO'}`,
    'AUTOSELECT=YES',
    `CHANNELS="${channels}"`,
    `URI="audio/${id}/playlist.m3u8"`,
  ];
  return `#EXT-X-MEDIA:${attributes.join(',')}`;
}

/**
 * The codec strings (RFC 6381) that the packager's master playlist states, by the URI of the media playlist; those of
 * audio are what a variant names beside its video.
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
