/** A queue of jobs with priorities; the most urgent job that waited longest comes first. */

export type Priority = "interactive" | "warmup" | "background";

export interface Job {
  id: number;
  priority: Priority;
  run: () => Promise<void>;
}

const ORDER: Record<Priority, number> = {
  interactive: 0,
  warmup: 1,
  background: 2,
};

export class JobQueue {
  private readonly jobs: Job[] = [];
  private nextId = 1;

  get length(): number {
    return this.jobs.length;
  }

  push(priority: Priority, run: () => Promise<void>): number {
    const job: Job = { id: this.nextId++, priority, run };
    const position = this.jobs.findIndex((other) => ORDER[other.priority] > ORDER[priority]);
    if (position < 0) {
      this.jobs.push(job);
    } else {
      this.jobs.splice(position, 0, job);
    }
    return job.id;
  }

  pop(): Job | undefined {
    return this.jobs.shift();
  }

  cancel(id: number): boolean {
    const position = this.jobs.findIndex((job) => job.id === id);
    if (position < 0) {
      return false;
    }
    this.jobs.splice(position, 1);
    return true;
  }

  clear(priority: Priority): number {
    const kept = this.jobs.filter((job) => job.priority !== priority);
    const removed = this.jobs.length - kept.length;
    this.jobs.splice(0, this.jobs.length, ...kept);
    return removed;
  }
}
