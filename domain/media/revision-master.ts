import type { Bandwidth } from './bandwidth.ts';
import type { FrameSize } from './frame-size.ts';
import type { Rational } from './rational.ts';
import { iframePlaylistPath, trackPaths } from './revision-layout.ts';

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

/** The tracks of a master playlist; `video` in listing order, `audio` in source order. */
export interface MasterContents {
  readonly video: readonly VideoRendition[];
  readonly audio: readonly AudioRendition[];
  readonly rate: Rational;
}

const audioGroup = 'audio';

/**
 * The master playlist of a revision (RFC 8216, section 4.3.4). It replaces the packager's, which has another order and
 * estimated bandwidths. A variant's bandwidth is that of its video plus the largest audio's.
 */
export function revisionMaster({ video, audio, rate }: MasterContents): string {
  const audioPeak = Math.max(0, ...audio.map(({ bandwidth }) => bandwidth.peak));
  const audioAverage = Math.max(0, ...audio.map(({ bandwidth }) => bandwidth.average));
  const audioCodecs = [...new Set(audio.map(({ codec }) => codec))];
  // Players that ignore DEFAULT take the first of a group; the others keep their order.
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
      trackPaths('video', track.id).playlist,
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
          `URI="${iframePlaylistPath(track.id)}"`,
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
    `URI="${trackPaths('audio', id).playlist}"`,
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
