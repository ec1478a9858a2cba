import { KnownProblem } from '#domain/errors.ts';
import { planChapters } from '#domain/media/chapters.ts';
import { framesSec, soundGridOf } from '#domain/media/grid.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { SoundSource } from '../../source/examine-sound.ts';
import { refuseTooLong, sourceFound } from '../../source/examine-video.ts';
import { scanPackets } from '../../source/packet-scan.ts';
import { ceilingWarnings } from './ceiling.ts';
import { encodeAudio } from './encode-audio.ts';
import { makeEncodedFolders } from './encode.ts';
import { audioTrackOf, type Encoded } from './encoded.ts';
import { undecodable } from './encoder-limits.ts';
import { planSound } from './frame-span.ts';
import { drawWaveform } from './waveform.ts';

/**
 * Encodes every track of an audio-only source into the workspace, and draws its waveform.
 *
 * @throws KnownProblem `corrupt_input`, `limit_exceeded`, `resource_exhausted`, …
 */
export async function encodeSound(source: SoundSource, context: StepContext): Promise<Encoded> {
  const { profile, reporter } = context;
  const packets = await scanPackets(source, context);
  refuseTooLong(packets.soundEndSec);
  const grid = soundGridOf(profile);
  const { frames, warnings } = planSound(source, packets, grid);
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
    source: sourceFound({ ...source, durationSec: source.isDurationStated ? source.durationSec : packets.soundEndSec }),
    warnings: [
      ...source.warnings,
      ...ceilingWarnings(source, [], profile),
      ...warnings,
      ...audio.warnings,
      ...textWarnings(source),
    ],
  };
}

function textWarnings({ subtitles }: SoundSource): Encoded['warnings'] {
  if (subtitles.length === 0) return [];
  return [
    {
      code: 'subtitles_left_out',
      message: 'An audio-only stream has no subtitles: those of the source were left out.',
    },
  ];
}
