import { KnownProblem } from '#domain/errors.ts';
import { planChapters } from '#domain/media/chapters.ts';
import { framesSec, audioGridOf } from '#domain/media/grid.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { AudioOnlySource } from '../../source/examine-audio-only.ts';
import { refuseTooLong, sourceFound } from '../../source/examine-video.ts';
import { isCutOff } from '../../source/file-end.ts';
import { scanPackets } from '../../source/packet-scan.ts';
import { ceilingWarnings } from './ceiling.ts';
import { encodeAudio } from './encode-audio.ts';
import { makeEncodedFolders } from './encode.ts';
import { audioTrackOf, type Encoded } from './encoded.ts';
import { undecodable } from './encoder-limits.ts';
import { planAudioFrames, shorterWarnings } from './frame-span.ts';
import { drawWaveform } from './waveform.ts';

/**
 * Encodes every track of an audio-only source into the workspace, and draws its waveform.
 *
 * @throws KnownProblem `corrupt_input`, `limit_exceeded`, `resource_exhausted`, …
 */
export async function encodeAudioOnly(source: AudioOnlySource, context: StepContext): Promise<Encoded> {
  const { profile, reporter } = context;
  const packets = await scanPackets(source, context);
  refuseTooLong(packets.audioEndSec);
  const grid = audioGridOf(profile);
  const span = planAudioFrames(source, packets, grid);
  const { frames } = span;
  const warnings = await shorterWarnings(span, () =>
    isCutOff(context.workspace.at(source.path), source.container, span.missing.share),
  );
  const durationSec = framesSec(frames, grid.rate);
  reporter.phase('encoding');
  await makeEncodedFolders(context);
  const onFraction = (fraction: number) => reporter.progress(fraction);
  const audio = await encodeAudio({ source, durationSec, packets, onFraction }, context);
  const listed = audio.tracks.find(({ isDefault, outputChannels }) => isDefault && outputChannels === 2);
  if (listed === undefined) throw new KnownProblem(undecodable.code, undecodable.message);
  await drawWaveform({ trackId: listed.id, durationSec, packets: packets.packets }, context);
  return {
    video: [],
    audio: audio.tracks.map(audioTrackOf),
    text: [],
    frames,
    grid,
    hasStoryboard: false,
    chapters: planChapters(source.chapters, durationSec),
    source: sourceFound({ ...source, durationSec: packets.audioEndSec }),
    warnings: [
      ...source.warnings,
      ...ceilingWarnings(source, [], profile),
      ...warnings,
      ...audio.warnings,
      ...textWarnings(source),
    ],
  };
}

function textWarnings({ subtitles }: AudioOnlySource): Encoded['warnings'] {
  if (subtitles.length === 0) return [];
  return [
    {
      code: 'subtitles_left_out',
      message: 'An audio-only stream has no subtitles: the source has some, which were left out.',
    },
  ];
}
