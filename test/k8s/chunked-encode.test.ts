import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { findSplitWork } from '#jobs/completion/next-units.ts';
import { jobs, mediaJobs, pods, runnerPools } from '#platform/kubernetes/objects.ts';
import { countedFfmpeg } from '../../testing/counted-ffmpeg.ts';
import { endPrograms } from '../../testing/programs.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openCrashScene } from '../../testing/k8s/crashes.ts';
import { type Pod, TestNode } from '../../testing/k8s/node.ts';
import { disruptionTarget } from '../../testing/k8s/pod-states.ts';
import { sample } from '../../testing/media.ts';

// A chunked encode, with the real runner and the controller as a separate process. The test's node runs the pods.

let source: string;
beforeAll(async () => {
  const tone = '-f lavfi -i sine=f=440:r=48000:d=60 -f lavfi -i sine=f=880:r=48000:d=60 -map 0 -map 1 -map 2';
  const clip = `-f lavfi -i testsrc2=s=160x90:r=10:d=60 ${tone}`;
  source = await sample('k8s-long.mp4', `${clip} -c:v libx264 -preset ultrafast -g 20 -pix_fmt yuv420p -c:a aac`);
  return endPrograms;
});

const chunks = 10;

test('C26.3: a long video is encoded by an Indexed Job, and a pod, the controller and a node that are lost at 20, 50 and 80 % cost the chunks of those pods', async () => {
  const { admin, namespace, workplace, start, freeLease } = await openCrashScene(onTestFinished, {
    CHUNK_LENGTH: '6s',
    X264_PRESET: 'ultrafast',
    RUNNER_POOLS: JSON.stringify({ default: { concurrency: 2 } }),
    WEBHOOK_BACKOFF: '1h',
  });
  await workplace.writeSource('source', await readFile(source));
  const ffmpeg = await countedFfmpeg();
  onTestFinished(() => ffmpeg.remove());
  const variables = { FFMPEG_PATH: ffmpeg.program, NODE_COMPILE_CACHE: dirname(ffmpeg.program) };
  const node = new TestNode(admin, namespace, variables);
  const watch = node.runAll();
  onTestFinished(() => watch.stop());

  const id = await workplace.submit('video:transcode', { options: { encrypt: true } });
  const finished = async () => (await findSplitWork(id, workplace.media))?.finished ?? new Set();
  const encodingPods = async () => {
    const { items } = await admin.list(pods, { namespace, labelSelector: 'reelwright.dev/unit=chunk' });
    return items.filter((pod) => isEncoding(pod));
  };
  /** A pod that encodes once this many chunks are finished. */
  const podAfter = async (count: number): Promise<Pod> => {
    await until(`${count} chunks are finished`, async () => (await finished()).size >= count);
    let found: Pod | undefined;
    await until('a chunk is encoded', async () => (found = (await encodingPods())[0]) !== undefined);
    return found as Pod;
  };

  const worker = await start();
  const evicted = await podAfter(2);
  node.kill(evicted, { status: disruptionTarget('EvictionByEvictionAPI') });
  await podAfter(5);
  worker.signal('SIGKILL');
  await worker.ended;
  await freeLease();
  await start();
  const ofLostNode = await podAfter(8);
  // The pod that stays behind has the pool's only slot.
  await admin.mergePatch(runnerPools, { namespace, name: 'default' }, { spec: { concurrency: 1 } });
  node.kill(ofLostNode, { isLost: true });
  await admin.delete(pods, { namespace, name: ofLostNode.metadata?.name ?? '' });

  await until('the job has ended', async () => isFinal((await workplace.find(id)).status));
  expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0, disruptions: 0 });
  expect((await finished()).size).toBe(chunks);
  const encodes = await ffmpeg.encodes();
  const firstFrames = [...new Set(encodes)].toSorted((a, b) => a - b);
  expect(firstFrames).toHaveLength(chunks);
  const lost = new Set([evicted, ofLostNode].map(chunkOf));
  for (const [chunk, firstFrame] of firstFrames.entries()) {
    const times = encodes.filter((each) => each === firstFrame).length;
    expect([chunk, lost.has(chunk) ? times <= 2 : times === 1]).toEqual([chunk, true]);
  }
  const { items } = await admin.list(jobs, { namespace });
  const parts = items.map(({ metadata }) => metadata?.name?.slice(`mj-${id}-`.length));
  expect(new Set(parts)).toEqual(new Set(['1', '1-c', '1-f']));
  const mediaJob = () => admin.get(mediaJobs, { namespace, name: `mj-${id}` });
  await until('its MediaJob shows the end', async () => (await mediaJob()).status?.phase === 'completed');
  expect((await mediaJob()).status?.chunks).toBe(`${chunks}/${chunks}`);
});

function isEncoding({ metadata, status }: Pod): boolean {
  const process = status?.initContainerStatuses?.find(({ name }) => name === 'process');
  return metadata?.deletionTimestamp === undefined && process?.state?.running !== undefined;
}

/** The chunk of a pod of the first Job of chunks, whose index it is. */
function chunkOf({ metadata }: Pod): number {
  return Number(metadata?.labels?.['batch.kubernetes.io/job-completion-index']);
}
