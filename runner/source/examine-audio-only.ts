import { KnownProblem } from '#domain/errors.ts';
import type { StepContext } from '../context/step-context.ts';
import { readAbilities, refuseMissingAbilities } from '../tools/abilities.ts';
import { statedFileSec, type VideoSource } from './examine-video.ts';
import { probeSource } from './probe.ts';

/** An audio-only source that has been examined; times in seconds from the start of the file. */
export interface AudioOnlySource extends Omit<VideoSource, 'video' | 'usableCodecs'> {
  readonly video: null;
}

/**
 * Examines the downloaded source of a stream where it has no video and the profile streams audio. Cover art is no
 * video.
 *
 * @returns null for every other source, which `examineVideo` accepts or refuses
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`, …
 */
export async function examineAudioOnly(context: StepContext): Promise<AudioOnlySource | null> {
  if (!context.profile.streamsAudioOnly) return null;
  const probed = await probeSource(context);
  if (probed.video !== null) return null;
  if (probed.audio.length === 0) {
    const skipped = probed.warnings.find(({ code }) => code === 'audio_track_skipped');
    if (skipped !== undefined) throw new KnownProblem('unsupported_media', skipped.message);
    return null;
  }
  refuseMissingAbilities(await readAbilities(context));
  const ends = probed.audio.flatMap(({ endSec }) => endSec ?? []);
  const durationSec = ends.length > 0 ? Math.max(...ends) : (probed.durationSec ?? 0);
  const fileSec = ends.length > 0 ? statedFileSec({ container: probed.container, durationSec }) : null;
  return { ...probed, video: null, durationSec, stated: { videoSec: null, fileSec }, packets: null };
}
