import type { Warning } from '#domain/job-types/shared-results.ts';
import type { AudioSource } from '#domain/media/audio-plan.ts';
import { type FfprobeStream, isProtected, spanOf } from './ffprobe-document.ts';

/** An audio stream as its headers describe it; `endSec` from the start of the file, null when no header states it. */
export interface ProbedAudio extends AudioSource {
  readonly codec: string;
  readonly sampleRate: number;
  readonly endSec: number | null;
}

/** The layouts that ffmpeg, like players, assumes for channels whose layout is not stated, by their number. */
const assumedLayouts: Readonly<Record<number, string>> = {
  3: '2.1',
  4: '4.0',
  5: '5.0',
  6: '5.1',
  7: '6.1',
  8: '7.1',
};

/** The audio streams that can be decoded, in the order of the source, and a warning for each other one. */
export function readAudioStreams(
  streams: readonly FfprobeStream[],
  fileStartSec: number,
): { audio: ProbedAudio[]; warnings: Warning[] } {
  const audio: ProbedAudio[] = [];
  const warnings: Warning[] = [];
  for (const stream of streams.filter(({ codec_type: type }) => type === 'audio')) {
    const read = readAudioStream(stream, fileStartSec);
    if (read === null) {
      const message = `Audio stream ${stream.index} was left out: its kind is not supported, or it has no packets near the start.`;
      warnings.push({ code: 'audio_track_skipped', message });
    } else {
      audio.push(read);
    }
  }
  return { audio, warnings };
}

function readAudioStream(stream: FfprobeStream, fileStartSec: number): ProbedAudio | null {
  const { codec_name: codec, channels = 0, channel_layout: layout, disposition, tags } = stream;
  const sampleRate = Number(stream.sample_rate ?? 0);
  const isDecodable = codec !== undefined && codec !== 'none' && codec !== 'unknown' && !isProtected(stream);
  if (!isDecodable || channels < 1 || !(sampleRate > 0)) return null;
  return {
    streamIndex: stream.index,
    codec,
    channels,
    sampleRate,
    channelLayout: layout === undefined || layout === 'unknown' ? (assumedLayouts[channels] ?? null) : layout,
    language: tags['language'] ?? tags['LANGUAGE'],
    title: tags['title'] ?? (isGenericHandler(tags['handler_name']) ? undefined : tags['handler_name']),
    isDefault: disposition['default'] === 1,
    role: audioRoleOf(disposition),
    endSec: spanOf(stream, fileStartSec).endSec,
  };
}

/** Whether the handler name is one that muxers write by themselves. */
function isGenericHandler(name: string | undefined): boolean {
  return (
    name === undefined ||
    /handler?\b|^(core media|mainconcept|gpac|bento4|iso media file produced by)|imported with gpac|audio$/i.test(name)
  );
}

function audioRoleOf(disposition: Readonly<Record<string, number>>): ProbedAudio['role'] {
  if (disposition['visual_impaired'] === 1) return 'description';
  if (disposition['comment'] === 1) return 'commentary';
  return disposition['dub'] === 1 ? 'dub' : null;
}
