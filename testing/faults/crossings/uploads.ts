import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beginUpload } from '#jobs/uploads/begin.ts';
import { completeUpload } from '#jobs/uploads/complete.ts';
import { deleteUpload } from '#jobs/uploads/remove.ts';
import { uploadExpiryTask } from '../../../controller/upkeep/upload-expiry.ts';
import type { Scene } from './callers.ts';

// Uploads that are completed and deleted at the same instant.

const file = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42', 'latin1'), Buffer.alloc(20)]);

export class Uploads {
  readonly #scene: Scene;
  /** The answers to each upload. */
  readonly #answers: { readonly id: string; readonly source: string; completed: boolean; deleted: boolean }[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  get #dependencies() {
    const { d, uploads } = this.#scene.ground;
    return { ...d, rows: d.uploadRows, bucket: uploads };
  }

  /** Uploads one after another until the round is over. */
  async call(): Promise<void> {
    const { random } = this.#scene;
    while (!this.#scene.isOver) {
      await this.#uploadOne().catch(() => undefined);
      await sleep(random() * 100);
    }
  }

  async #uploadOne(): Promise<void> {
    const { random, ground } = this.#scene;
    const dependencies = this.#dependencies;
    const announced = { keyId: randomUUID(), name: 'a.mp4', sizeBytes: file.length, contentType: null, sha256: null };
    const upload = await beginUpload(dependencies, announced);
    const { id, source, multipartId } = upload;
    await ground.uploads.parts.put({ key: source, id: multipartId ?? '' }, 1, { body: file, sizeBytes: file.length });
    const answer = { id, source, completed: false, deleted: false };
    this.#answers.push(answer);
    const complete = async () => {
      await sleep(random() * 20);
      await completeUpload(dependencies, id);
      answer.completed = true;
    };
    const remove = async () => {
      await sleep(random() * 20);
      answer.deleted = await deleteUpload(dependencies, id);
    };
    await Promise.allSettled([complete(), complete(), remove()]);
  }

  /** I29, I30: a deleted upload has no object, and a completed one has its own. Nothing is under way. */
  async violations(): Promise<string[]> {
    const { ground } = this.#scene;
    const { rows, bucket, log } = this.#dependencies;
    await uploadExpiryTask({ rows, bucket, log }).work(new AbortController().signal);
    const violations: string[] = [];
    for (const { id, source, completed, deleted } of this.#answers) {
      const isThere = (await ground.source.head(source)) !== null;
      const status = (await rows.find(id))?.status;
      if (deleted && (completed || isThere || status !== 'aborted'))
        violations.push(`I30: the upload ${id} was deleted, and is ${status}${isThere ? ' with its object' : ''}`);
      if (completed && (!isThere || status !== 'completed'))
        violations.push(`I29: the upload ${id} was completed, and is ${status}${isThere ? '' : ' without its object'}`);
    }
    return violations;
  }
}
