import { KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import type { VideoTranscodeResults } from '#domain/job-types/video-transcode.ts';
import { chapterCues } from '#domain/media/chapters.ts';
import { framesSec } from '#domain/media/grid.ts';
import { chaptersPath, dashManifestPath, masterPath, trackPaths } from '#domain/media/revision-layout.ts';
import { codecsOfMaster, revisionMaster } from '#domain/media/revision-master.ts';
import type { StoryboardLine } from '#domain/media/storyboard.ts';
import { completeManifest } from '#domain/playback/dash-manifest.ts';
import type { PublishContext } from '../job-handler.ts';
import type { Encoded } from './encoded.ts';
import {
  bandwidthIn,
  type MeasuredTracks,
  measurePlaylist,
  type PackagedTexts,
  unevenWarnings,
  withSharedTarget,
} from './measure.ts';
import { transcodeResults } from './results.ts';
import { storyboardTexts } from './storyboard.ts';

/** The packager succeeds on an input that is cut off, so the length of its output is compared with its input's. */
const missingSecMax = 0.5;

interface Stream {
  readonly encoded: Encoded;
  readonly packaged: PackagedTexts;
  /** As the packager wrote them; only the codec strings of its master are used. */
  readonly packagerMaster: string;
  readonly dash: string;
  /** The size of all sheets of the storyboard, where there is one. */
  readonly storyboardBytes: number;
  /** The size of the waveform of an audio-only stream. */
  readonly waveformBytes?: number | null;
}

/**
 * All that refers to the segments of a packaged stream, and its results.
 *
 * @returns texts by their paths in the revision, the master last
 * @throws KnownProblem `packager_error` when the packaged stream is not whole
 */
export function assembleStream(
  { encoded, packaged, packagerMaster, dash, storyboardBytes, waveformBytes = null }: Stream,
  context: Pick<PublishContext, 'task' | 'reporter' | 'encryption'>,
): { texts: ReadonlyMap<string, string>; results: VideoTranscodeResults } {
  const texts = withSharedTarget(packaged.playlists);
  const stream = { playlists: texts, sizes: packaged.sizes };
  const measured = measureTracks(encoded, stream);
  const storyboard = encoded.hasStoryboard ? storyboardTexts(encoded, storyboardBytes) : null;
  for (const [path, text] of storyboard?.texts ?? []) texts.set(path, text);
  if (encoded.chapters.length > 0) texts.set(chaptersPath, chapterCues(encoded.chapters));
  const shared = { keyEndpoint: context.encryption?.keyEndpoint ?? null, storyboard: storyboard?.line ?? null };
  texts.set(dashManifestPath, completeManifest(dash, { ...shared, ...dashTracksOf(encoded, packaged) }));
  texts.set(masterPath, masterOf(encoded, { measured, stream, packagerMaster, ...shared }));
  const warnings: Warning[] = unevenWarnings(tracksOf(encoded), measured);
  for (const warning of warnings) context.reporter.warn(warning);
  const all = { ...encoded, warnings: [...encoded.warnings, ...warnings], waveformBytes };
  return { texts, results: transcodeResults(all, measured, context) };
}

/** Names of DASH (ISO/IEC 23009-1, "urn:mpeg:dash:role:2011"). */
function textRole({
  isForced,
  isHearingImpaired,
}: Encoded['text'][number]): 'forced-subtitle' | 'caption' | 'subtitle' {
  if (isForced) return 'forced-subtitle';
  return isHearingImpaired ? 'caption' : 'subtitle';
}

/** The tracks of a stream as the packager gets them. */
export function tracksOf({ video, audio, text }: Pick<Encoded, 'video' | 'audio' | 'text'>) {
  return [
    ...video.map(({ id }) => ({ kind: 'video' as const, id, language: null, role: null })),
    ...audio.map(({ id, language, role }) => ({ kind: 'audio' as const, id, language, role })),
    ...text.map((track) => ({ kind: 'text' as const, id: track.id, language: track.language, role: textRole(track) })),
  ];
}

function measureTracks(encoded: Encoded, stream: PackagedTexts): MeasuredTracks {
  const durationSec = framesSec(encoded.frames, encoded.grid.rate);
  const measured = new Map<string, ReturnType<typeof measurePlaylist>>();
  for (const { kind, id } of tracksOf(encoded)) {
    const track = measurePlaylist(trackPaths(kind, id).playlist, stream);
    if (Math.abs(track.durationSec - durationSec) > missingSecMax) {
      const lengths = `${track.durationSec.toFixed(1)} s of ${durationSec.toFixed(1)} s`;
      throw new KnownProblem('packager_error', `The packager wrote a stream of the wrong length: ${lengths}.`);
    }
    measured.set(id, track);
  }
  return measured;
}

function masterOf(
  encoded: Encoded,
  {
    measured,
    stream,
    packagerMaster,
    ...shared
  }: {
    readonly measured: MeasuredTracks;
    readonly stream: PackagedTexts;
    readonly packagerMaster: string;
    readonly storyboard: StoryboardLine | null;
    readonly keyEndpoint: string | null;
  },
): string {
  const codecs = codecsOfMaster(packagerMaster);
  const video = encoded.video.map(({ id, codec: family, range, width, height }) => {
    const { playlist, iframePlaylist } = trackPaths('video', id);
    const codec = codecs.video.get(playlist);
    if (codec === undefined || iframePlaylist === null) {
      throw new KnownProblem('packager_error', 'The packager did not name a codec.');
    }
    const { bandwidth: iframeBandwidth } = measurePlaylist(iframePlaylist, stream);
    return { id, family, range, width, height, codec, bandwidth: bandwidthIn(measured, id), iframeBandwidth };
  });
  const audio = encoded.audio.map((track) => ({
    ...track,
    codec: codecs.audio ?? 'mp4a.40.2',
    bandwidth: bandwidthIn(measured, track.id),
  }));
  const hasChapters = encoded.chapters.length > 0;
  return revisionMaster({ video, audio, text: encoded.text, rate: encoded.grid.rate, hasChapters, ...shared });
}

/**
 * The tracks as the DASH manifest lists them. Text that was packaged before it was also stored whole stays in segments.
 */
function dashTracksOf({ audio, text }: Pick<Encoded, 'audio' | 'text'>, { sizes }: PackagedTexts) {
  const named = [
    ...audio.map(({ id, name }) => [`audio/${id}`, name] as const),
    ...text.map(({ id, name }) => [`text/${id}`, name] as const),
  ];
  const whole = text.filter(({ id }) => sizes.has(trackPaths('text', id).whole ?? ''));
  return { names: new Map(named), wholeTexts: new Set(whole.map(({ id }) => id)) };
}
