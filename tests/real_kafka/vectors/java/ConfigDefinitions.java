import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Every configuration of every ConfigDef: type, default and validator, by scope and name. */
public final class ConfigDefinitions {
    private static final String[][] PLACES = {
        {"broker", "org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF"},
        {"broker", "kafka.server.KafkaConfig$", "configDef"},
        {"broker", "kafka.server.KafkaConfig$", "kafka$server$KafkaConfig$$configDef"},
        {"dynamic broker", "org.apache.kafka.server.config.QuotaConfig", "brokerQuotaConfigs"},
        {"dynamic broker", "org.apache.kafka.server.config.QuotaConfigs", "brokerQuotaConfigs"},
        {"dynamic broker", "kafka.server.DynamicConfig$Broker$", "brokerConfigDef"},
        {"dynamic broker", "kafka.server.DynamicConfig$Broker$", "kafka$server$DynamicConfig$Broker$$brokerConfigDef"},
        {"topic", "org.apache.kafka.storage.internals.log.LogConfig", "CONFIG"},
        {"topic", "kafka.log.LogConfig$", "configDef"},
        {"topic", "kafka.log.LogConfig$", "kafka$log$LogConfig$$configDef"},
        {"producer", "org.apache.kafka.clients.producer.ProducerConfig", "CONFIG"},
        {"producer", "org.apache.kafka.clients.producer.ProducerConfig", "config"},
        {"consumer", "org.apache.kafka.clients.consumer.ConsumerConfig", "CONFIG"},
        {"consumer", "org.apache.kafka.clients.consumer.ConsumerConfig", "config"},
        {"admin", "org.apache.kafka.clients.admin.AdminClientConfig", "CONFIG"},
    };

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> answers = new TreeMap<>();
        Set<String> done = new HashSet<>();
        for (String[] place : PLACES) {
            Object definition = done.contains(place[0]) ? null : definition(place[1], place[2]);
            if (definition == null) {
                continue;
            }
            done.add(place[0]);
            Object required = required(definition.getClass());
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) Reflection.get(definition, "configKeys")).entrySet()) {
                Object key = entry.getValue();
                String item = place[0] + "/" + entry.getKey() + "/";
                Object value = Reflection.get(key, "defaultValue");
                answers.put(item + "type", String.valueOf(Reflection.get(key, "type")));
                answers.put(item + "default", value == required ? "(required)" : text(value));
                answers.put(item + "range", range(Reflection.get(key, "validator")));
            }
        }
        Json.print(answers);
    }

    /** A static field or method of a class, or a member of a Scala object; null where the release has none. */
    private static Object definition(String owner, String name) {
        try {
            Object object = owner.endsWith("$") ? Reflection.scalaObject(owner) : Class.forName(owner);
            try {
                Object found = Reflection.get(object, name);
                return found != null ? found : Reflection.call(object, name);
            } catch (NoSuchFieldException error) {
                return Reflection.call(object, name);
            }
        } catch (ReflectiveOperationException | LinkageError error) {
            return null;
        }
    }

    private static Object required(Class<?> definition) throws Exception {
        try {
            return Reflection.get(definition, "NO_DEFAULT_VALUE");
        } catch (NoSuchFieldException error) {
            return new Object();
        }
    }

    private static String text(Object value) {
        if (value instanceof Class) {
            return ((Class<?>) value).getName();
        }
        if (value instanceof Collection) {
            List<String> found = new ArrayList<>();
            for (Object each : (Collection<?>) value) {
                found.add(text(each));
            }
            return String.join(",", found);
        }
        return String.valueOf(value);
    }

    /** How the validator prints itself, or the name of its class where it does not; empty for none. */
    private static String range(Object validator) {
        if (validator == null) {
            return "";
        }
        String printed = String.valueOf(validator);
        if (!printed.contains("@")) {
            return printed;
        }
        String name = validator.getClass().getName();
        return name.contains("Lambda") || name.contains("$$anon") ? "(a function)" : "(" + name + ")";
    }
}
