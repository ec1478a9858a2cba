import type { BrowserPart } from './chromium.ts';
import type { AskPart, StartedPart } from './server.ts';
import type { Postgres, StageService } from './service.ts';
import type { ClipName, StageStreams } from './streams.ts';

/** The parts that the test files of a run share, by the names by which they ask. */
export type Parts = {
  /** The program in mode `all` on buckets that are folders. */
  readonly service: StageService;
  readonly browser: BrowserPart;
} & {
  /** A stream of that clip, once encrypted and once clear, on the service. */
  readonly [Name in ClipName as `streams of ${Name}`]: StageStreams;
};

/** Starts a part. Its code is loaded here, since most runs of a few files need none of it. */
export async function startPart(name: string, ask: AskPart, postgres: Postgres): Promise<StartedPart<unknown>> {
  if (name === 'browser') return await (await import('./chromium.ts')).startBrowser();
  if (name === 'service') return await (await import('./service.ts')).startStageService(postgres);
  const [, clip] = /^streams of (.*)$/.exec(name) ?? [];
  const { makeStageStreams } = await import('./streams.ts');
  return await makeStageStreams(clip as ClipName, (await ask('service')) as StageService);
}
