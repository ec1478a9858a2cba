import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResults } from '#domain/job-types/index.ts';
import { runTool } from '../media.ts';
import { secrets } from '../programs.ts';
import type { StartedPart } from './server.ts';
import type { StageService } from './service.ts';

// The streams that files of tests play: each clip becomes an encrypted and a clear one.

export interface StageStreams {
  readonly service: StageService;
  /** The key of the clip in the source bucket. */
  readonly source: string;
  /** The hashes of the streams. */
  readonly encrypted: string;
  readonly clear: string;
  /** The job of the encrypted one. */
  readonly jobId: string;
  readonly results: JobResults<'video:transcode'>;
}

/** A name that would be an element of a page which does not take it as text. */
export const markupName = '<img src=x onerror=attacked()><script>attacked()</script>';

const clips = {
  /** Twelve seconds of test bars in 540p and 360p, with English and German audio and a storyboard. */
  bars: { profile: 'sheets', make: makeBars },
  /** `makeCaptionedVideo`, in 180p and 90p with a storyboard. */
  captioned: { profile: 'small', make: makeCaptionedVideo },
  /** Twelve seconds of German and English audio. */
  audio: { profile: 'audio', make: makeAudio },
};
export type ClipName = keyof typeof clips;

/** Makes both streams of a clip on the service. */
export async function makeStageStreams(name: ClipName, service: StageService): Promise<StartedPart<StageStreams>> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-clip-'));
  const { profile, make } = clips[name];
  const file = await make(folder);
  const source = `${profile}/${basename(file)}`;
  await mkdir(join(service.source, profile));
  await copyFile(file, join(service.source, source));
  await rm(folder, { recursive: true });
  const stream = (hash: string, encrypt: boolean) =>
    transcode(service, { type: 'video:transcode', hash, source, options: { encrypt } });
  const [encrypted, clear] = await Promise.all([stream(`${name}-encrypted`, true), stream(`${name}-clear`, false)]);
  const hashes = { encrypted: encrypted.hash, clear: clear.hash };
  const answer = { service, source, ...hashes, jobId: encrypted.job_id, results: encrypted.results };
  return { answer, stop: async () => undefined };
}

interface StreamJob {
  readonly job_id: string;
  readonly hash: string;
  readonly status: string;
  readonly results: JobResults<'video:transcode'>;
}

/** Submits a job and waits for its end. @throws Error with the job where it has failed */
async function transcode({ url }: StageService, body: object): Promise<StreamJob> {
  const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };
  const submitted = await fetch(`${url}/api/jobs`, { method: 'POST', headers, body: JSON.stringify(body) });
  let job = (await submitted.json()) as StreamJob;
  while (job.status === 'queued' || job.status === 'processing') {
    await sleep(100);
    job = (await (await fetch(`${url}/api/jobs/${job.job_id}`, { headers })).json()) as StreamJob;
  }
  if (job.status !== 'completed') throw new Error(`no stream was made: ${JSON.stringify(job)}`);
  return job;
}

async function makeBars(folder: string): Promise<string> {
  const video = '-v error -f lavfi -i testsrc2=size=960x540:rate=25:duration=12';
  const audio = '-f lavfi -i sine=f=440:r=48000:d=12 -f lavfi -i sine=f=660:r=48000:d=12 -map 0 -map 1 -map 2';
  const languages = '-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger';
  const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac';
  await runTool('ffmpeg', `${video} ${audio} ${languages} ${codecs} bars.mp4`.split(' '), folder);
  return join(folder, 'bars.mp4');
}

async function makeAudio(folder: string): Promise<string> {
  const inputs = '-v error -f lavfi -i sine=f=440:r=48000:d=12 -f lavfi -i sine=f=880:r=48000:d=12 -map 0 -map 1';
  const languages = '-metadata:s:a:0 language=ger -metadata:s:a:1 language=eng';
  await runTool('ffmpeg', `${inputs} ${languages} -c:a flac audio.mka`.split(' '), folder);
  return join(folder, 'audio.mka');
}

const oneCue = (text: string) => `1\n00:00:00,500 --> 00:00:17,000\n${text}\n`;

/**
 * Makes a small video of 18 seconds, which are three segments: English and German audio, German and English captions,
 * and two chapters. The German audio and the first chapter have the name `markupName`.
 *
 * @returns its path, below `folder`
 */
async function makeCaptionedVideo(folder: string): Promise<string> {
  await writeFile(join(folder, 'de.srt'), oneCue('Grüße'));
  await writeFile(join(folder, 'en.srt'), oneCue('Greetings'));
  const chapters = [
    [0, 9000, markupName.replaceAll('=', String.raw`\=`)],
    [9000, 18_000, 'End'],
  ];
  const written = chapters.map(([start, end, title]) =>
    ['[CHAPTER]', 'TIMEBASE=1/1000', `START=${start}`, `END=${end}`, `title=${title}`].join('\n'),
  );
  await writeFile(join(folder, 'chapters.txt'), [';FFMETADATA1', ...written, ''].join('\n'));
  const sines = [440, 660].map((f) => `-f lavfi -i sine=f=${f}:r=48000:d=18`).join(' ');
  const inputs = `-v error -f lavfi -i testsrc2=s=320x180:r=10:d=18 ${sines} -i de.srt -i en.srt -i chapters.txt`;
  const languages = ['a:0 eng', 'a:1 ger', 's:0 ger', 's:1 eng'].map(
    (track) => `-metadata:s:${track.replace(' ', ' language=')}`,
  );
  const maps = [0, 1, 2, 3, 4].map((index) => `-map ${index}`);
  const codecs = '-map_metadata 5 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -c:s srt';
  const args = [inputs, ...maps, ...languages, codecs].join(' ').split(' ');
  await runTool('ffmpeg', [...args, '-metadata:s:a:1', `title=${markupName}`, 'long.mkv'], folder);
  return join(folder, 'long.mkv');
}
