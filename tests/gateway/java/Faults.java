import java.io.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.*;

/** Every kind of client at work until a line comes on stdin; then what was lost, doubled or fatal, as JSON on stdout.
 *  Arguments: bootstrap servers, and the group protocols of the readers. */
class Faults {
  static final String WORK = "work", OUT = "out";
  static String bootstrap;
  static volatile boolean over = false, drained = false;
  static final Set<String> acknowledged = ConcurrentHashMap.newKeySet();
  static final AtomicInteger sent = new AtomicInteger(), failed = new AtomicInteger(), transactions = new AtomicInteger();
  static final AtomicInteger aborted = new AtomicInteger(), processed = new AtomicInteger(), calls = new AtomicInteger();
  static final Queue<String> fatal = new ConcurrentLinkedQueue<>();
  static final Map<String, Set<String>> readByGroup = new ConcurrentHashMap<>();
  static final Map<String, AtomicInteger> adminErrors = new ConcurrentHashMap<>();

  interface Job { void run() throws Exception; }

  static Thread start(String name, Job job) {
    var thread = new Thread(() -> {
      try { job.run(); } catch (Throwable error) { note(name, error); }
    }, name);
    thread.start();
    return thread;
  }

  static void note(String who, Throwable error) {
    var trace = new StringWriter();
    error.printStackTrace(new PrintWriter(trace));
    System.err.println(who + ": " + trace);
    fatal.add(who + " " + error.getClass().getSimpleName() + ": " + error.getMessage());
  }

  static KafkaProducer<String, String> producer(String id, String transactionalId) {
    var config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    config.put("client.id", id);
    config.put("acks", "all");
    config.put("linger.ms", "5");
    config.put("delivery.timeout.ms", "120000");
    config.put("request.timeout.ms", "5000");
    config.put("max.block.ms", "60000");
    if (transactionalId != null) config.put("transactional.id", transactionalId);
    return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
  }

  static KafkaConsumer<String, String> consumer(String id, String group, String protocol) {
    var config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    config.put("client.id", id);
    config.put("auto.offset.reset", "earliest");
    config.put("enable.auto.commit", "false");
    config.put("isolation.level", "read_committed");
    config.put("request.timeout.ms", "6000");
    if (group != null) {
      config.put("group.id", group);
      config.put("group.protocol", protocol);
      if (protocol.equals("classic")) config.put("session.timeout.ms", "6000");
    }
    return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
  }

  /** Records that the broker must have exactly once. */
  static void idempotent() throws Exception {
    try (var producer = producer("java-idempotent", null)) {
      for (int number = 0; !over; number++) {
        String value = "i-" + number;
        sent.incrementAndGet();
        producer.send(new ProducerRecord<>(WORK, value, value), (metadata, error) -> {
          if (error == null) acknowledged.add(value);
          else { failed.incrementAndGet(); note("java-idempotent", error); }
        });
        Thread.sleep(10);
      }
      producer.flush();
    }
  }

  /** Commit, as often as it takes to know how it ended; false where the transaction had to be aborted. */
  static boolean ended(KafkaProducer<String, String> producer, Job work) throws Exception {
    try {
      work.run();
      while (true) {
        try { producer.commitTransaction(); return true; } catch (TimeoutException again) { Thread.sleep(100); }
      }
    } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException | UnsupportedVersionException error) {
      throw error;
    } catch (KafkaException error) {
      aborted.incrementAndGet();
      System.err.println(Thread.currentThread().getName() + " aborts: " + error);
      while (true) {
        try { producer.abortTransaction(); return false; } catch (TimeoutException again) { Thread.sleep(100); }
      }
    }
  }

  static void initialise(KafkaProducer<String, String> producer) throws Exception {
    while (true) {
      try { producer.initTransactions(); return; } catch (TimeoutException again) { Thread.sleep(100); }
    }
  }

  /** Ten records at a time, all or none of them. */
  static void transactional() throws Exception {
    try (var producer = producer("java-transactional", "java-transactional")) {
      initialise(producer);
      for (int number = 0; !over; number++) {
        var values = new ArrayList<String>();
        for (int place = 0; place < 10; place++) values.add("t-" + number + "-" + place);
        producer.beginTransaction();
        if (ended(producer, () -> { for (var value : values) producer.send(new ProducerRecord<>(WORK, value, value)); })) {
          acknowledged.addAll(values);
          transactions.incrementAndGet();
        }
        Thread.sleep(50);
      }
    }
  }

  /** Read, write and commit what was read in one transaction. */
  static void process(String protocol) throws Exception {
    try (var consumer = consumer("java-process-reader", "process", protocol);
         var producer = producer("java-process", "java-process")) {
      initialise(producer);
      consumer.subscribe(List.of(WORK));
      while (!drained) {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
        if (records.isEmpty()) continue;
        producer.beginTransaction();
        boolean committed = ended(producer, () -> {
          var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
          for (var record : records) {
            producer.send(new ProducerRecord<>(OUT, record.key(), record.value()));
            offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
          }
          producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        });
        if (committed) processed.addAndGet(records.count());
        else back(consumer);
      }
    }
  }

  static void back(KafkaConsumer<String, String> consumer) throws Exception {
    while (true) {
      try {
        var committed = consumer.committed(consumer.assignment());
        for (var partition : consumer.assignment()) {
          var offset = committed.get(partition);
          if (offset == null) consumer.seekToBeginning(List.of(partition));
          else consumer.seek(partition, offset.offset());
        }
        return;
      } catch (TimeoutException again) { Thread.sleep(100); }
    }
  }

  static void read(String id, String group, String protocol) throws Exception {
    var seen = readByGroup.computeIfAbsent(group, name -> ConcurrentHashMap.newKeySet());
    try (var consumer = consumer(id, group, protocol)) {
      consumer.subscribe(List.of(WORK));
      while (!drained) {
        var records = consumer.poll(Duration.ofMillis(200));
        for (var record : records) seen.add(record.value());
        if (records.isEmpty()) continue;
        try { consumer.commitSync(); }
        catch (CommitFailedException | RebalanceInProgressException | TimeoutException | RetriableCommitFailedException moved) {
          System.err.println(id + " commits later: " + moved);
        }
      }
    }
  }

  static Object asked(String name, KafkaFuture<?> answer) throws Exception {
    try { calls.incrementAndGet(); return answer.get(); }
    catch (ExecutionException error) {
      var cause = error.getCause();
      adminErrors.computeIfAbsent(name + " " + cause.getClass().getSimpleName(), key -> new AtomicInteger()).incrementAndGet();
      if (!(cause instanceof RetriableException) && !(cause instanceof TimeoutException)) note("admin " + name, cause);
      return null;
    }
  }

  static void administer(Admin admin) throws Exception {
    while (processed.get() == 0 || readByGroup.values().stream().anyMatch(Set::isEmpty)) Thread.sleep(50); // Groups are there.
    for (int number = 0; !over; number++) {
      asked("describeCluster", admin.describeCluster().nodes());
      asked("describeTopics", admin.describeTopics(List.of(WORK)).allTopicNames());
      asked("listOffsets", admin.listOffsets(Map.of(new TopicPartition(WORK, number % 6), OffsetSpec.latest())).all());
      asked("listConsumerGroupOffsets", admin.listConsumerGroupOffsets("process").partitionsToOffsetAndMetadata());
      asked("describeConsumerGroups", admin.describeConsumerGroups(List.copyOf(readByGroup.keySet())).all());
      String name = "extra-" + number;
      asked("createTopics", admin.createTopics(List.of(new NewTopic(name, 2, (short) 2))).all());
      Thread.sleep(400);
      asked("listTopics", admin.listTopics().names());
      Thread.sleep(100);
    }
  }

  static List<String> all(String topic) {
    var found = new ArrayList<String>();
    try (var consumer = consumer("java-auditor", null, "")) {
      var partitions = new ArrayList<TopicPartition>();
      for (var each : consumer.partitionsFor(topic, Duration.ofSeconds(60))) partitions.add(new TopicPartition(topic, each.partition()));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      var ends = consumer.endOffsets(partitions, Duration.ofSeconds(60));
      long deadline = System.currentTimeMillis() + 60_000;
      while (System.currentTimeMillis() < deadline && partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each)))
        for (var record : consumer.poll(Duration.ofMillis(300))) found.add(record.value());
    }
    return found;
  }

  static int doubled(List<String> values) { return values.size() - new HashSet<>(values).size(); }

  static int missing(Collection<String> wanted, Collection<String> there) {
    var left = new HashSet<>(wanted);
    left.removeAll(there);
    return left.size();
  }

  public static void main(String[] arguments) throws Exception {
    bootstrap = arguments[0];
    var config = new Properties();
    config.put("bootstrap.servers", bootstrap);
    config.put("default.api.timeout.ms", "60000");
    config.put("request.timeout.ms", "6000");
    var admin = Admin.create(config);
    var safe = Map.of("min.insync.replicas", "2");
    admin.createTopics(List.of(new NewTopic(WORK, 6, (short) 3).configs(safe), new NewTopic(OUT, 3, (short) 3).configs(safe))).all().get();
    Thread.sleep(1000);
    var writers = new ArrayList<Thread>();
    var readers = new ArrayList<Thread>();
    for (int place = 1; place < arguments.length; place++) {
      String protocol = arguments[place];
      for (int member = 0; member < 2; member++) {
        String id = "java-" + protocol + "-" + member;
        readers.add(start(id, () -> read(id, "read-" + protocol, protocol)));
      }
    }
    readers.add(start("java-process", () -> process(arguments[arguments.length - 1])));
    writers.add(start("java-idempotent", Faults::idempotent));
    writers.add(start("java-transactional", Faults::transactional));
    writers.add(start("java-admin", () -> administer(admin)));
    System.out.println("started");
    var in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; !"stop".equals(line = in.readLine()) && line != null; )
      System.out.println(acknowledged.size() + " " + transactions.get() + " " + processed.get() + " " + calls.get());
    over = true;
    for (var thread : writers) thread.join();
    List<String> work = all(WORK);
    long deadline = System.currentTimeMillis() + 60_000;
    while (System.currentTimeMillis() < deadline && (processed.get() < work.size()
        || readByGroup.values().stream().anyMatch(seen -> missing(work, seen) > 0))) Thread.sleep(200);
    drained = true;
    for (var thread : readers) thread.join();
    admin.close(Duration.ofSeconds(5));
    List<String> out = all(OUT);
    int unread = readByGroup.values().stream().mapToInt(seen -> missing(work, seen)).sum();
    System.out.printf("{\"sent\": %d, \"acked\": %d, \"failed\": %d, \"transactions\": %d, \"aborted\": %d, \"processed\": %d, \"calls\": %d, "
        + "\"lost\": %d, \"duplicates\": %d, \"processed_lost\": %d, \"processed_duplicates\": %d, \"unread\": %d, \"fatal\": %d}%n",
        sent.get(), acknowledged.size(), failed.get(), transactions.get(), aborted.get(), processed.get(), calls.get(),
        missing(acknowledged, work), doubled(work), missing(work, out), doubled(out), unread, fatal.size());
    for (var each : fatal) System.err.println("fatal: " + each);
    System.err.println("admin " + adminErrors);
    System.exit(0);
  }
}
