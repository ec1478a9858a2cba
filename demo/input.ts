import { createHash } from 'node:crypto';
import { copyFile, link, mkdir, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { videoContainers } from '#domain/media/video-containers.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';

// A file of the user as a source of the demo.

/**
 * The kind of results that are made of a source: a stream with cover and preview, a stream of audio alone, or images.
 */
export type SourceKind = 'video' | 'audio' | 'image';

interface TakeOptions {
  /** The folder of the source bucket. */
  readonly bucket: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/**
 * Puts the user's file into the bucket, by a hard link or, across file systems, by a copy. The key keeps only the
 * extension of the file's name.
 *
 * @returns the object key, and what the file is
 */
export async function takeInput(
  input: string,
  { bucket, env, signal }: TakeOptions,
): Promise<{ kind: SourceKind; key: string }> {
  const path = resolve(input.startsWith('~/') ? join(homedir(), input.slice(2)) : input);
  const found = await stat(path).catch(() => null);
  if (found === null) throw new Error(`INPUT: the file ${path} does not exist`);
  if (!found.isFile() || found.size === 0) throw new Error(`INPUT: ${path} is empty or not a regular file`);
  const kind = await kindOf(path, findProgram('ffprobe', env), signal);
  const extension = /^\.[a-z0-9]{1,8}$/.exec(extname(path).toLowerCase())?.[0] ?? '.bin';
  const name = createHash('sha256').update(`${path}:${found.size}:${found.mtimeMs}`).digest('hex').slice(0, 16);
  const key = `input/${name}${extension}`;
  const file = join(bucket, key);
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  await link(path, file).catch(() => copyFile(path, file));
  return { kind, key };
}

/** Files that are images by their names, also where ffprobe would see a video of one frame. */
const imageName = /\.(?:jpe?g|png|webp|avif|hei[cf]|tiff?|bmp|svg|jxl)$/i;

/** @throws Error that says what is wrong when the file has neither video nor audio that ffprobe can read */
async function kindOf(path: string, ffprobe: string, signal: AbortSignal): Promise<SourceKind> {
  if (imageName.test(path)) return 'image';
  const shown = ['-show_entries', 'stream=codec_type:stream_disposition=attached_pic', '-of', 'json'];
  const command = { program: ffprobe, args: ['-v', 'error', ...shown, path] };
  const { exitCode, stdout } = await runCommand(command, { signal, timeoutMs: 30_000 });
  if (exitCode !== 0) throw new Error(`INPUT: ${path} is not a media file. Supported containers: ${videoContainers}`);
  const { streams = [] } = JSON.parse(stdout) as { streams?: readonly ProbedStream[] };
  // The cover of a song is an attached image.
  if (streams.some(({ codec_type: type, disposition }) => type === 'video' && disposition?.attached_pic !== 1))
    return 'video';
  if (streams.some(({ codec_type: type }) => type === 'audio')) return 'audio';
  throw new Error(`INPUT: ${path} has no video, audio or image; give a file that has one of them`);
}

interface ProbedStream {
  readonly codec_type?: string;
  readonly disposition?: { readonly attached_pic?: number };
}
